import { z } from 'zod';
import { type Attempts, AttemptsSchema } from './attempts.ts';
import type { Evidence } from './evidence.ts';
import { ItemSchema, type ItemState, type ParkedState } from './item.ts';
import type { Json } from './json.ts';
import type { Order } from './orders.ts';
import { type DeliveryPolicy, DeliveryPolicySchema, HTTP_METHODS, type HttpMethod } from './policy.ts';

/**
 * The input of `deliverItem`: all that one item needs to its end, so that it reads nothing else. A schema,
 * since histories are read again later, perhaps by another version of us.
 */
export const DeliverySchema = z.object({
  item: ItemSchema.required({ key: true, operation: true }),
  lane: z.string(),
  batch: z.object({ workflowId: z.string(), batchId: z.string(), position: z.int() }),
  publisher: z.string().nullable(),
  fingerprint: z.string(),
  /** as sent, on every attempt: a changed lanes.yaml does not change the operation of an item */
  request: z.object({
    method: z.enum(HTTP_METHODS),
    path: z.string(),
    /** where the upstream says whether it was done; null where it can't be asked */
    lookupPath: z.string().nullable(),
  }),
  policy: DeliveryPolicySchema,
  /** its batch was paused before it started: it begins held */
  held: z.object({ by: z.string(), reason: z.string() }).nullable(),
});
export type Delivery = Readonly<z.infer<typeof DeliverySchema>>;

/** What a deliverItem workflow's memo says, so that its key can be compared with no worker running. */
export const ItemMemoSchema = z.object({
  fingerprint: z.string(),
  /** the workflow ID of the batch that brought it */
  batch: z.string(),
  position: z.int(),
  // The server drops a memo's field that is null.
  publisher: z.string().nullable().default(null),
  /** of its lane: whom to ask about it */
  owner: z.string().nullable().default(null),
});
export type ItemMemo = Readonly<z.infer<typeof ItemMemoSchema>>;

/** What the memo of an item says beside that since it first parked, for lists of what is parked. */
export const ParkedMemoSchema = z.object({
  parked: z.object({ reason: z.string(), /** epoch ms */ atMs: z.number(), round: z.int() }),
});
export type ParkedMemo = Readonly<z.infer<typeof ParkedMemoSchema>>;

/** The input of the activity `callUpstream`: what takes an item to its end, or to the park. */
export interface CallTask {
  /** of the item's workflow; in another one than this, it was reset */
  readonly run: { readonly id: string; readonly startedAtMs: number };
  readonly lane: string;
  readonly key: string;
  readonly correlationId: string | null;
  readonly method: HttpMethod;
  readonly path: string;
  readonly lookupPath: string | null;
  readonly payload: Json;
  readonly policy: DeliveryPolicy;
  /** epoch ms; null for none */
  readonly deadlineMs: number | null;
  /** 0 as it was published, n after its nth redrive */
  readonly round: number;
  /** of the item's earlier activities; null in its first */
  readonly account: Attempts | null;
  /** who redrove it wants it sent again though the upstream may have done it, and can't be asked */
  readonly acceptRisk: boolean;
}

/** The input of the activity `lookUp`: asks once whether an item's work was done. */
export interface LookupTask {
  readonly lane: string;
  readonly key: string;
  readonly correlationId: string | null;
  readonly path: string;
  readonly policy: DeliveryPolicy;
}

/** Evidence of completion. */
export const ReceiptSchema = z.object({
  /** null: an operator's word, with no answer of the upstream */
  status: z.int().nullable(),
  /** the upstream's own ID of what it did, where its answer has one */
  upstreamId: z.string().nullable(),
  /** the upstream answered with an earlier completion of this very key (`Idempotent-Replayed: true`) */
  replayed: z.boolean(),
  foundBy: z.enum(['answer', 'lookup', 'operator']),
  /** ISO 8601, by the worker's clock */
  at: z.string(),
  /** the attempt that found it, or the last before it was found */
  attempt: z.int(),
  /** the operator, who says so for this reason */
  by: z.string().nullable(),
  reason: z.string().nullable(),
});
export type Receipt = Readonly<z.infer<typeof ReceiptSchema>>;

/** What a lookup proves. */
export const FindingSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('found'), receipt: ReceiptSchema }),
  /** proves it only of calls that can't arrive any more */
  z.object({ kind: z.literal('absent'), at: z.string(), status: z.int() }),
  z.object({ kind: z.literal('noEvidence'), why: z.string() }),
]);
export type Finding = Readonly<z.infer<typeof FindingSchema>>;

/** How `callUpstream` ended: all that is not tried again by itself. */
export const CallOutcomeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('succeeded'), receipt: ReceiptSchema, attempts: AttemptsSchema }),
  z.object({
    kind: z.literal('parked'),
    state: z.enum(['dead', 'uncertain'] satisfies ParkedState[]),
    reason: z.string(),
    attempts: AttemptsSchema,
  }),
]);
export type CallOutcome = z.infer<typeof CallOutcomeSchema>;

/** The result of `deliverItem`. */
export type ItemEnd = EndedItem &
  (
    | { readonly state: 'succeeded'; readonly receipt: Receipt }
    | {
        readonly state: 'discarded';
        readonly by: string;
        readonly reason: string;
        /** ISO 8601, by the server's clock */
        readonly at: string;
      }
  );

interface EndedItem {
  /** without the upstream's answers: an end is also written into the history of its batch, 500 of them into one */
  readonly attempts: Attempts;
  readonly round: number;
  /** the newest order that it carried out, perhaps the one that ended it */
  readonly order: Order | null;
}

/** What a deliverItem workflow tells about itself. While an activity backs off, the server knows more. */
export interface ItemSnapshot {
  readonly delivery: Omit<Delivery, 'policy' | 'request'> & { readonly deadlineMs: number | null };
  readonly state: ItemState;
  /** only once an activity has ended: before, its account is in the pending activity's heartbeat details */
  readonly outcome: CallOutcome | null;
  /** 0 as it was published, n after its nth redrive */
  readonly round: number;
  /** how many orders have had their turn, also those that were refused then */
  readonly turn: number;
  readonly parkedAtMs: number | null;
  /** its batch is paused: nothing of it is sent meanwhile */
  readonly held: Delivery['held'];
  /** newest last, at most `ORDERS_KEPT` */
  readonly orders: readonly Order[];
  /** answers that came to calls of processes that had lost the lane; newest last, bounded. Evidence, not state */
  readonly late: readonly Evidence[];
}

/** An item tells its batch that it parked, or that it left the park, so that the batch can end. */
export interface MovedNotice {
  readonly key: string;
  readonly state: ItemState;
}
