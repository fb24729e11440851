import type { Client } from '@temporalio/client';
import { pMapIterable } from 'p-map';
import type { ItemAnswer } from '../domain/orders.ts';
import type { RedriveAsked } from '../workflows/messages.ts';
import type { Named } from '../workflows/named.ts';
import { ItemRefusedError, NotFoundError, UnansweredError } from './errors.ts';
import { operateItem } from './operate-item.ts';

/** Enough to hide the round trips, few enough for a small server and for one dispatch worker. */
export const ORDERS_AT_ONCE = 10;

/** What became of the order for one item of many. */
export type Operated =
  | { readonly key: string; readonly done: true; readonly answer: ItemAnswer }
  | {
      readonly key: string;
      readonly done: false;
      readonly why: 'refused' | 'unanswered' | 'unknown';
      readonly reason: string;
    };

/**
 * Gives many items the same order, each by an order of its own, a few at a time. Who stops reading stops it, and may
 * begin again: an item that has carried it out is not there any more, or answers the same.
 */
export const operateItems = {
  redrive: (client: Client, keys: AsyncIterable<string> | Iterable<string>, asked: RedriveAsked) =>
    each(keys, (key) => operateItem.redrive(client, key, asked)),
  discard: (client: Client, keys: AsyncIterable<string> | Iterable<string>, asked: Named) =>
    each(keys, (key) => operateItem.discard(client, key, asked)),
};

function each(
  keys: AsyncIterable<string> | Iterable<string>,
  order: (key: string) => Promise<ItemAnswer>,
): AsyncIterable<Operated> {
  return pMapIterable(keys, (key) => operated(key, () => order(key)), { concurrency: ORDERS_AT_ONCE });
}

/** Whatever concerns this item alone is its outcome, and doesn't keep the order from the others. */
export async function operated(key: string, order: () => Promise<ItemAnswer>): Promise<Operated> {
  try {
    return { key, done: true, answer: await order() };
  } catch (error) {
    if (error instanceof ItemRefusedError) return { key, done: false, why: 'refused', reason: error.message };
    if (error instanceof UnansweredError)
      return { key, done: false, why: 'unanswered', reason: error.message };
    if (error instanceof NotFoundError) return { key, done: false, why: 'unknown', reason: error.message };
    throw error;
  }
}
