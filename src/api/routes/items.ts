import { z } from 'zod';
import { NotFoundError, itemRecord, operateItem } from '../../client.ts';
import { laneName } from '../../domain/ids.ts';
import type { TypedApi } from '../app.ts';
import type { Caller } from '../caller.ts';
import { ItemRecordSchema, ItemStandingAnswerSchema } from '../item-answers.ts';
import { mustBeExact } from '../json-body.ts';
import { problemResponses } from '../problems.ts';
import { ANSWERED_WITHIN_MS, ItemKeySchema, ReasonSchema, type RouteContext } from './context.ts';

const ReasonBodySchema = z.strictObject({ reason: ReasonSchema });
const RedriveBodySchema = ReasonBodySchema.extend({
  acceptRisk: z
    .boolean()
    .default(false)
    .describe('send it again though the upstream may have done it, and cannot be asked'),
});
const ResolveBodySchema = ReasonBodySchema.extend({
  upstreamId: z
    .string()
    .min(1)
    .max(255)
    .nullable()
    .default(null)
    .describe("the upstream's own ID of what it did"),
});

const ItemParamsSchema = z.object({ key: ItemKeySchema });

export function itemRoutes(app: TypedApi, { client }: RouteContext): void {
  app.get(
    '/v1/items/:key',
    {
      config: { scope: 'read' },
      schema: {
        tags: ['items'],
        summary: 'What became of an item, with evidence; works with no worker running',
        params: ItemParamsSchema,
        querystring: z.strictObject({}),
        response: { 200: ItemRecordSchema, ...problemResponses(400, 404) },
      },
    },
    async ({ caller, params: { key } }) => {
      const { record, lane } = await seenBy(caller, key);
      caller.mustBeAllowedTo('read', lane);
      return record;
    },
  );

  app.post(
    '/v1/items/:key/redrive',
    {
      config: { scope: 'operate' },
      schema: {
        ...orderSchema,
        summary: 'Try a parked item again under its key, with a fresh budget and deadline',
        body: RedriveBodySchema,
      },
    },
    async ({ caller, params: { key }, body: { reason, acceptRisk }, bodyText }) => {
      await mayOrder(caller, key, bodyText);
      return await operateItem.redrive(client, key, { by: caller.name, reason, acceptRisk });
    },
  );

  app.post(
    '/v1/items/:key/discard',
    {
      config: { scope: 'operate' },
      schema: { ...orderSchema, summary: 'Give up an item that is not being sent', body: ReasonBodySchema },
    },
    async ({ caller, params: { key }, body: { reason }, bodyText }) => {
      await mayOrder(caller, key, bodyText);
      return await operateItem.discard(client, key, { by: caller.name, reason });
    },
  );

  app.post(
    '/v1/items/:key/resolve',
    {
      config: { scope: 'operate' },
      schema: {
        ...orderSchema,
        summary: 'Close a parked item as found done; an upstream that can be asked is asked first',
        body: ResolveBodySchema,
      },
    },
    async ({ caller, params: { key }, body: { reason, upstreamId }, bodyText }) => {
      await mayOrder(caller, key, bodyText);
      return await operateItem.resolve(client, key, { by: caller.name, reason, receipt: { upstreamId } });
    },
  );

  async function mayOrder(caller: Caller, key: string, bodyText: string): Promise<void> {
    mustBeExact({ bodyText });
    caller.mustBeAllowedTo('operate', (await seenBy(caller, key)).lane);
  }

  /** To a caller who may neither read nor operate in its lane, an item is unknown. */
  async function seenBy(caller: Caller, key: string) {
    const record = await client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () => itemRecord(client, key));
    const lane = laneName(record.lane, record.partition);
    if (!caller.may('read', lane) && !caller.may('operate', lane))
      throw new NotFoundError(`item "${key}": nothing is known under this key`);
    return { record, lane };
  }
}

const orderSchema = {
  tags: ['items'],
  description: 'Twice the same does it once, and gives the same answer.',
  params: ItemParamsSchema,
  querystring: z.strictObject({}),
  response: { 200: ItemStandingAnswerSchema, ...problemResponses(400, 404, 409, 413, 415) },
};
