import { z } from 'zod';
import { type BatchAct, batchOutcome, operateBatch } from '../../client.ts';
import type { TypedApi } from '../app.ts';
import { BatchOrderSchema } from '../batch-answers.ts';
import { batchSeenBy } from '../batch-seen.ts';
import { mustBeExact } from '../json-body.ts';
import { problemResponses } from '../problems.ts';
import { BatchParamsSchema, ReasonSchema, type RouteContext } from './context.ts';

/** An answer is held in memory; more than this nobody reads. The counts are of all. */
const MOST_LISTED = 500;

const SUMMARIES: Readonly<Record<BatchAct, string>> = {
  pause: 'Take back what is not being sent, until it is resumed',
  resume: 'Let the items of a paused batch go on where they stood',
  discard: 'Give up all of a batch that has not ended',
};

/** What is done to a batch is done to each of its items, which may take a while; asked again, it goes on. */
export function batchOrderRoutes(app: TypedApi, { client }: RouteContext): void {
  for (const act of ['pause', 'resume', 'discard'] as const)
    app.post(
      `/v1/batches/:id/${act}`,
      {
        config: { scope: 'operate' },
        schema: {
          tags: ['batches'],
          summary: SUMMARIES[act],
          description:
            'Tells each item that has not ended, by itself, and counts those. Broken off, it may be asked for again, ' +
            'and goes on with what is left.',
          params: BatchParamsSchema,
          querystring: z.strictObject({}),
          body: z.strictObject({ reason: ReasonSchema }),
          response: { 200: BatchOrderSchema, ...problemResponses(400, 404, 413, 415, 422) },
        },
      },
      async ({ caller, params: { id }, body: { reason }, bodyText }) => {
        mustBeExact({ bodyText });
        await batchSeenBy(client, caller, id, 0, 'operate');
        const acting = operateBatch[act](client, id, { by: caller.name, reason });
        return await batchOutcome(id, acting, MOST_LISTED);
      },
    );
}
