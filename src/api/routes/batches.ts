import { z } from 'zod';
import { batchReport } from '../../client.ts';
import { batchRows } from '../../client/batch-rows.ts';
import { batchWorkflowId } from '../../domain/ids.ts';
import type { TypedApi } from '../app.ts';
import { BatchAnswerSchema, BatchItemsSchema, BatchReportSchema, PublishedSchema } from '../batch-answers.ts';
import { BatchIdHeaderSchema, mustComeOnce } from '../batch-id.ts';
import { batchSeenBy } from '../batch-seen.ts';
import { exactMembers } from '../json-body.ts';
import { problemResponses } from '../problems.ts';
import { locationOf, publishFor, rowsShownTo } from '../publish.ts';
import {
  ANSWERED_WITHIN_MS,
  BatchParamsSchema,
  LaneSchema,
  type RouteContext,
  WaitSchema,
  membersSchema,
} from './context.ts';

const PublishBodySchema = z.strictObject({
  lane: LaneSchema,
  items: membersSchema(
    'an item: `payload`, and optionally `key`, `operation`, `version`, `partition`, `notBefore`, `priority` 1-5, ' +
      '`correlationId`. A bad one is rejected alone',
    { key: 'release:pkg-1842:v7', payload: { package: 'pkg-1842', version: '7' } },
  ),
});

export function batchRoutes(app: TypedApi, { client }: RouteContext): void {
  app.post(
    '/v1/batches',
    {
      config: { scope: 'publish' },
      preValidation: async ({ raw }) => mustComeOnce(raw),
      schema: {
        tags: ['batches'],
        summary: 'Publish a batch, and learn the admission of each of its items',
        description:
          'At most 500 items, of at most 1 MiB together (else 413). The same request again joins the first, and gives ' +
          'the same admissions.',
        headers: z.looseObject({ 'idempotency-key': BatchIdHeaderSchema }),
        querystring: z.strictObject({ wait: WaitSchema }),
        body: PublishBodySchema,
        response: {
          200: PublishedSchema.describe('Every item is answered'),
          202: PublishedSchema.describe('Durable; not all items are answered yet. Ask at `Location`'),
          ...problemResponses(400, 413, 415, 422),
        },
      },
    },
    async ({ caller, headers, query, body, bodyText }, reply) => {
      const exact = exactMembers(bodyText, 'items', body.items);
      const batch = { batchId: headers['idempotency-key'], lane: body.lane, items: exact };
      const published = await publishFor(client, caller, batch, query.wait);
      return reply
        .code(published.answered ? 200 : 202)
        .header('Location', locationOf(published.batchId))
        .send(published);
    },
  );

  app.get(
    '/v1/batches/:id',
    {
      config: { scope: 'read' },
      schema: {
        tags: ['batches'],
        summary: 'Where a batch, or a page of it, stands; works with no worker running',
        params: BatchParamsSchema,
        querystring: z.strictObject({ page: PageSchema }),
        response: { 200: BatchAnswerSchema, ...problemResponses(400, 404) },
      },
    },
    ({ caller, params, query }) => batchSeenBy(client, caller, params.id, query.page),
  );

  app.get(
    '/v1/batches/:id/items',
    {
      config: { scope: 'read' },
      schema: {
        tags: ['batches'],
        summary: 'The admission of each item of a page, and where it stands',
        params: BatchParamsSchema,
        querystring: z.strictObject({ page: PageSchema }),
        response: { 200: BatchItemsSchema, ...problemResponses(400, 404) },
      },
    },
    async ({ caller, params, query }) => {
      const { page } = query;
      const status = await batchSeenBy(client, caller, params.id, page);
      const { batchId: id, pages } = status;
      const workflowId = batchWorkflowId(id, page);
      const rows = await client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () =>
        batchRows(client, { workflowId, page }, status),
      );
      return { batchId: id, page, pages, items: rowsShownTo(caller, rows) };
    },
  );

  app.get(
    '/v1/batches/:id/report',
    {
      config: { scope: 'read' },
      schema: {
        tags: ['batches'],
        summary: 'Account for a batch over all of its pages, in sums that must add up',
        description:
          'Looks at every item. Of a batch of very many, `onelane batch ID --report` tells the same.',
        params: BatchParamsSchema,
        querystring: z.strictObject({}),
        response: { 200: BatchReportSchema, ...problemResponses(400, 404) },
      },
    },
    async ({ caller, params }) => {
      await batchSeenBy(client, caller, params.id);
      const report = await batchReport(client, params.id);
      return { ...report, rows: rowsShownTo(caller, report.rows) };
    },
  );
}

const PageSchema = z
  .string()
  .regex(/^\d{1,6}$/, 'expected a whole number from 0')
  .default('0')
  .transform(Number)
  .describe('a batch of more than 500 items or 1 MiB has several');
