import { z } from 'zod';
import type { TypedApi } from '../app.ts';
import { ProblemError, problemResponses } from '../problems.ts';
import type { RouteContext } from './context.ts';

/** Whoever asks whether we are ready asks again soon. */
const READY_WITHIN_MS = 2_000;

export function healthRoutes(app: TypedApi, { client }: RouteContext): void {
  app.get(
    '/healthz',
    {
      schema: {
        tags: ['service'],
        summary: 'Whether the process is up',
        response: { 200: z.object({ status: z.literal('up') }) },
      },
    },
    () => ({ status: 'up' as const }),
  );

  app.get(
    '/readyz',
    {
      schema: {
        tags: ['service'],
        summary: 'Whether it can work: Temporal answers',
        response: { 200: z.object({ status: z.literal('ready') }), ...problemResponses(503) },
      },
    },
    async () => {
      try {
        const { namespace } = client.options;
        await client.withDeadline(Date.now() + READY_WITHIN_MS, () =>
          client.workflowService.describeNamespace({ namespace }),
        );
        return { status: 'ready' as const };
      } catch {
        throw new ProblemError('away', 'Temporal does not answer', { headers: { 'Retry-After': '2' } });
      }
    },
  );
}
