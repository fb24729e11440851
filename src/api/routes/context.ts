import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { BatchSchema, MAX_PAGE_ITEMS } from '../../domain/batch.ts';
import { parseDuration } from '../../domain/duration.ts';
import { KeySchema } from '../../domain/item.ts';

/** What routes need besides the request. */
export interface RouteContext {
  readonly client: Client;
}

/** Temporal answers within milliseconds, or it is not well. */
export const ANSWERED_WITHIN_MS = 15_000;
const DEFAULT_WAIT = '10s';

/** How long a request waits for admissions, in milliseconds. */
export const WaitSchema = z
  .string()
  .regex(
    /^(?:0s|[1-9]\d{0,3}ms|(?:[1-9]|[1-5]\d|60)s|1m)$/,
    'expected 0s, or a duration such as 500ms or 10s, of at most 60s',
  )
  .default(DEFAULT_WAIT)
  .transform((text) => (text === '0s' ? 0 : parseDuration(text)))
  .describe('how long to wait for admissions, at most 60s; the batch is durable in any case');

export const ItemKeySchema = KeySchema.describe("the item's key, percent-encoded, `/` included");

/** Why an operator does something. Who does it is told by the key. */
export const ReasonSchema = z
  .string()
  .regex(/\S/, 'expected why, got nothing')
  .max(1_000)
  .describe('kept with what is done, beside the name of the key');

export const BatchParamsSchema = z.object({
  id: BatchSchema.shape.batchId.describe("the batch's ID, percent-encoded"),
});
export const LaneSchema = BatchSchema.shape.lane;

/** One of the items, or of what items are made of, of a batch. It is judged by itself, later: a bad one must not stop the good ones. */
export function membersSchema(description: string, example: object) {
  const member = z.unknown().meta({ description, examples: [example] });
  return z
    .array(member)
    .min(1, 'expected at least one, got none')
    .max(MAX_PAGE_ITEMS, `expected at most ${MAX_PAGE_ITEMS}`);
}
