import { z } from 'zod';
import { FindingSchema, ReceiptSchema } from './delivery.ts';
import type { Receipt } from './delivery.ts';
import type { ItemState } from './item.ts';

/** How many orders of an item are kept: the newest. */
export const ORDERS_KEPT = 50;

const given = {
  by: z.string(),
  reason: z.string(),
  /** epoch ms, by the server's clock */
  atMs: z.number(),
};

/** What a person, or a reconciliation in a person's name, had done to an item. */
export const OrderSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('redrive'), ...given, acceptRisk: z.boolean() }),
  z.object({ kind: z.literal('discard'), ...given }),
  z.object({ kind: z.literal('resolve'), ...given, receipt: ReceiptSchema }),
  z.object({ kind: z.literal('hold'), ...given }),
  z.object({ kind: z.literal('release'), ...given }),
  z.object({ kind: z.literal('reconcile'), ...given, finding: FindingSchema }),
]);
export type Order = Readonly<z.infer<typeof OrderSchema>>;

/** The answer to each order: where the item stands now. */
export interface ItemAnswer {
  readonly key: string;
  readonly state: ItemState;
  readonly round: number;
  readonly receipt: Receipt | null;
  /** why it is parked, or was discarded */
  readonly reason: string | null;
}
