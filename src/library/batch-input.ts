import { BatchRefusedError, type LongBatch } from '../client.ts';
import type { Batch } from '../domain/batch.ts';
import type { PublishedItem } from '../domain/item.ts';

/** An item to publish. Its payload is what JSON carries exactly; anything else in it is answered as rejected. */
export interface ItemInput<Payload = unknown> extends Omit<PublishedItem, 'payload'> {
  readonly payload: Payload;
}

/** One page of a batch: at most 500 items and 1 MiB. */
export interface BatchInput<Payload = unknown> extends Omit<Batch, 'items'> {
  readonly items: readonly ItemInput<Payload>[];
}

/** A batch of any length, whose items may come from anywhere, e.g. line by line out of a file. */
export interface LongBatchInput<Payload = unknown> extends Omit<LongBatch, 'items'> {
  readonly items: Iterable<ItemInput<Payload>> | AsyncIterable<ItemInput<Payload>>;
}

/** @throws BatchRefusedError where JavaScript brings no list: its types hold nobody back */
export function asBatch(batch: BatchInput): Batch {
  if (!Array.isArray(batch.items))
    throw new BatchRefusedError(`items: expected a list of items, got ${typeof batch.items}`);
  return { ...batch, items: [...batch.items] };
}
