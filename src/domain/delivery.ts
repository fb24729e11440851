import { z } from 'zod';
import { AttemptsSchema } from './attempts.ts';
import { ItemSchema, type ItemState, type ParkedState } from './item.ts';
import type { Json } from './json.ts';
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
  request: z.object({ method: z.enum(HTTP_METHODS), path: z.string() }),
  policy: DeliveryPolicySchema,
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
});
export type ItemMemo = Readonly<z.infer<typeof ItemMemoSchema>>;

/** The input of the activity `callUpstream`: one call's worth. */
export interface CallTask {
  readonly lane: string;
  readonly key: string;
  readonly correlationId: string | null;
  readonly method: HttpMethod;
  readonly path: string;
  readonly payload: Json;
  readonly policy: DeliveryPolicy;
  /** epoch ms; null for none */
  readonly deadlineMs: number | null;
}

/** Evidence of completion. */
const ReceiptSchema = z.object({
  status: z.int(),
  /** the upstream's own ID of what it did, where its answer has one */
  upstreamId: z.string().nullable(),
  /** the upstream answered with an earlier completion of this very key (`Idempotent-Replayed: true`) */
  replayed: z.boolean(),
  foundBy: z.enum(['answer', 'lookup']),
  /** ISO 8601, by the worker's clock */
  at: z.string(),
  attempt: z.int(),
});
export type Receipt = Readonly<z.infer<typeof ReceiptSchema>>;

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
export interface ItemEnd {
  readonly state: 'succeeded';
  readonly receipt: Receipt;
}

/** What a deliverItem workflow tells about itself. While an activity backs off, the server knows more. */
export interface ItemSnapshot {
  readonly delivery: Omit<Delivery, 'policy' | 'request'> & { readonly deadlineMs: number | null };
  readonly state: ItemState;
  /** only once an activity has ended: before, its account is in the pending activity's heartbeat details */
  readonly outcome: CallOutcome | null;
}

/** An item tells its batch that it parked, so that the batch can end. */
export interface ParkedNotice {
  readonly key: string;
  readonly state: ParkedState;
}
