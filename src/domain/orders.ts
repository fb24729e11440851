import { z } from 'zod';
import { FindingSchema, ReceiptSchema } from './delivery.ts';
import { ITEM_STATES } from './item.ts';

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
export const ItemAnswerSchema = z.object({
  key: z.string(),
  state: z.enum(ITEM_STATES),
  round: z.int(),
  receipt: ReceiptSchema.nullable(),
  /** why it is parked, or was discarded */
  reason: z.string().nullable(),
  /** the newest that it has carried out */
  order: OrderSchema.nullable(),
});
export type ItemAnswer = Readonly<z.infer<typeof ItemAnswerSchema>>;
