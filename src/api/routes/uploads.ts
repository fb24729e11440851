import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { BatchRefusedError, publishPages, survey } from '../../client.ts';
import { ItemTextError } from '../../domain/item-text.ts';
import { typed } from '../app.ts';
import { UploadedSchema } from '../batch-answers.ts';
import { BatchIdHeaderSchema, mustComeOnce } from '../batch-id.ts';
import type { Caller } from '../caller.ts';
import { ProblemError, problemResponses } from '../problems.ts';
import { locationOf, shownTo } from '../publish.ts';
import { withUpload } from '../upload.ts';
import { LaneSchema, type RouteContext } from './context.ts';

const NDJSON = ['application/x-ndjson', 'application/jsonl'];

/** Batches of any length. In a scope of its own, since here a body is a stream, and JSON isn't taken. */
export function uploadRoutes(app: FastifyInstance, { client }: RouteContext): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(NDJSON, (_request, body, done) => done(null, body));

  typed(app).post(
    '/v1/uploads',
    {
      config: { scope: 'publish' },
      preValidation: async ({ raw }) => mustComeOnce(raw),
      schema: {
        tags: ['batches'],
        summary: 'Publish a batch of any length, one item a line',
        description:
          'Answers when all of the batch is durable; its items are admitted page by page. The same upload again ' +
          'goes on where one was broken off. Of one that is cut off nothing is published.',
        consumes: NDJSON,
        headers: z.looseObject({ 'idempotency-key': BatchIdHeaderSchema }),
        querystring: z.strictObject({ lane: LaneSchema }),
        body: z.unknown().meta({ type: 'string', description: 'NDJSON: one item a line, at most 1 GiB' }),
        response: {
          200: UploadedSchema.describe('Every item is answered'),
          202: UploadedSchema.describe('Durable; not all items are answered yet. Ask at `Location`'),
          ...problemResponses(400, 413, 415, 422),
        },
      },
    },
    async ({ caller, headers, query: { lane }, body }, reply) => {
      caller.mustBeAllowedTo('publish', lane);
      if (!(body instanceof Readable)) throw new ProblemError('bad-request', 'body: required');
      const batchId = headers['idempotency-key'];
      const uploaded = await withUpload(body, (items) => publishAll(caller, batchId, lane, items));
      const answered = uploaded.counts.pending === 0;
      return reply
        .code(answered ? 200 : 202)
        .header('Location', locationOf(batchId))
        .send({ batchId, answered, ...uploaded });
    },
  );

  async function publishAll(
    caller: Caller,
    batchId: string,
    lane: string,
    items: () => AsyncIterable<unknown>,
  ) {
    try {
      const whole = await survey(lane, items());
      if (whole === undefined) throw new BatchRefusedError('body: expected at least one item, got none');
      const batch = { batchId, lane, publisher: caller.name, items: items(), whole };
      const counts = { accepted: 0, duplicate: 0, conflict: 0, rejected: 0, pending: 0 };
      for await (const page of publishPages(client, batch, { waitMs: 0 }))
        for (const { admission } of shownTo(caller, lane, page.admissions)) counts[admission]++;
      return { pages: whole.pages, total: whole.total, counts };
    } catch (error) {
      if (!(error instanceof ItemTextError)) throw error;
      throw new ProblemError('bad-request', `body: ${error.message}`, {
        errors: [{ field: 'body', message: error.message }],
      });
    }
  }
}
