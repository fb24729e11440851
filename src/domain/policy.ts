import type { Verdict } from './verdict.ts';

/**
 * What a lane's configuration says about an item, without anything secret: it is stored in histories.
 * Durations are milliseconds. `null` is a `none` that somebody wrote out.
 */
export interface LanePolicy {
  readonly lane: string;
  readonly owner: string;
  readonly operations: { readonly [name: string]: Operation };
  /** e.g. `release:{payload.package}:{payload.version}`; null when every item brings its own key */
  readonly keyTemplate: string | null;
  readonly delivery: DeliveryPolicy;
}

export interface Operation {
  readonly method: HttpMethod;
  /** path template below the upstream's base URL, e.g. `/packages/{payload.package}/releases` */
  readonly path: string;
}

export const HTTP_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

/** How one item is delivered. Every item carries its own copy, so that a changed file changes no promise. */
export interface DeliveryPolicy {
  /** null: the upstream takes no idempotency keys, so an ambiguous attempt is never repeated */
  readonly idempotency: { readonly header: string; readonly windowMs: number } | null;
  /** statuses that this upstream means differently, e.g. `{ '202': 'ambiguous' }` */
  readonly verdicts: { readonly [status: string]: Verdict };
  /** from a request's first byte until its whole answer is there */
  readonly timeoutMs: number;
  /** how long a worker may go unheard before its item is eligible again */
  readonly leaseMs: number;
  readonly retry: { readonly budget: number | null; readonly initialMs: number; readonly maxMs: number };
  readonly deadlineMs: number | null;
  /** the longest time that an item's attempt may rightly sit in the slot before its call leaves */
  readonly slotWaitMs: number;
}

/** The quota as it is used: `requests` is already our share of what the upstream grants. */
export interface Limit {
  readonly requests: number;
  readonly perMs: number;
  /** calls that may leave back to back after a quiet time */
  readonly burst: number;
  /** declared by the upstream's neighbourhood: a request arrives at most this long after it left */
  readonly arrivalWithinMs: number | null;
}

/** Everything about a lane that a worker process knows, secrets included. Never leaves the process. */
export interface LaneConfig {
  readonly policy: LanePolicy;
  readonly baseUrl: string;
  readonly headers: { readonly [name: string]: string };
  /** values expanded from the environment, to be blanked wherever an answer is stored */
  readonly secrets: readonly string[];
  readonly limit: Limit;
  readonly maxInFlight: number;
  readonly retryAfterMaxMs: number;
  /** dotted path of the upstream's own ID in its answer, e.g. `id` */
  readonly receiptId: string;
  readonly dedupWindowMs: number;
}
