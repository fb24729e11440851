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

export function asBatch(batch: BatchInput): Batch {
  return { ...batch, items: [...batch.items] };
}
