import { z } from 'zod';
import { NotFoundError, itemRecord } from '../../client.ts';
import { laneName } from '../../domain/ids.ts';
import type { TypedApi } from '../app.ts';
import type { Caller } from '../caller.ts';
import { ItemAnswerSchema } from '../item-answers.ts';
import { problemResponses } from '../problems.ts';
import { ANSWERED_WITHIN_MS, ItemKeySchema, type RouteContext } from './context.ts';

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
        response: { 200: ItemAnswerSchema, ...problemResponses(400, 404) },
      },
    },
    ({ caller, params }) => readable(caller, params.key),
  );

  /** To a caller who may not read its lane, an item is unknown. */
  async function readable(caller: Caller, key: string) {
    const record = await client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () => itemRecord(client, key));
    if (!caller.may('read', laneName(record.lane, record.partition)))
      throw new NotFoundError(`item "${key}": nothing is known under this key`);
    return record;
  }
}
