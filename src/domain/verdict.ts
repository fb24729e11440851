/** What an attempt's end means, for its item and for its lane. */
export const VERDICTS = [
  'succeeded',
  'throttled',
  'unavailable',
  'ambiguous',
  'refused',
  'laneFault',
] as const;
export type Verdict = (typeof VERDICTS)[number];

/** How one call to the upstream ended, before anybody says what it means. */
export type CallEnd =
  /** a status came; `whole` is false where the rest of the answer got lost */
  | { kind: 'answered'; status: number; headers: AnswerHeaders; body: string; whole: boolean }
  /** no connection stood, so no byte of the request can have arrived; `code` e.g. ECONNREFUSED */
  | { kind: 'unconnected'; code: string }
  /** the request left, and no answer came; `code` e.g. TIMEOUT, ECONNRESET, WORKER_LOST */
  | { kind: 'unanswered'; code: string };

/** What of an item's policy decides about verdicts. */
export interface VerdictPolicy {
  /** null: the upstream takes no idempotency keys */
  readonly idempotency: object | null;
  /** statuses that this upstream means differently */
  readonly verdicts: { readonly [status: string]: Verdict };
}

/** The headers of an answer that mean something to us, as they came. */
export interface AnswerHeaders {
  readonly retryAfter?: string;
  readonly date?: string;
  readonly rateLimit?: string;
  readonly idempotentReplayed?: string;
  readonly location?: string;
}

/**
 * The verdict table.
 *
 * @param retryAfterUsable whether the answer says usably when to come again: 503 and 403 are the upstream's
 *   throttling only then
 */
export function verdictOf(end: CallEnd, policy: VerdictPolicy, retryAfterUsable: boolean): Verdict {
  switch (end.kind) {
    case 'unconnected':
      return 'unavailable';
    case 'unanswered':
      return 'ambiguous';
    case 'answered': {
      const verdict =
        policy.verdicts[String(end.status)] ?? verdictOfStatus(end.status, policy, retryAfterUsable);
      // Half an answer proves that the request arrived, not what came of it. Throttling alone is all in the status
      // and the headers, which came whole, and the lane must not call on as if it had not been asked to wait.
      return end.whole || verdict === 'throttled' ? verdict : 'ambiguous';
    }
  }
}

function verdictOfStatus(status: number, policy: VerdictPolicy, retryAfterUsable: boolean): Verdict {
  if (status >= 200 && status < 300) return 'succeeded';
  switch (status) {
    case 429:
      return 'throttled';
    case 503:
      return retryAfterUsable ? 'throttled' : 'unavailable';
    case 403:
      return retryAfterUsable ? 'throttled' : 'refused';
    case 408:
    case 425:
      return 'unavailable';
    case 401:
    case 407:
      return 'laneFault';
    case 409:
      // Where the upstream takes keys, 409 says that an earlier attempt under this key is still being worked on.
      return policy.idempotency === null ? 'refused' : 'ambiguous';
    default:
      // Redirects are never followed: a POST repeated elsewhere is another operation.
      return status >= 300 && status < 500 ? 'refused' : 'ambiguous';
  }
}

/** The status, or the network's code; a status alone where its whole answer came. */
export function endedAs(end: CallEnd): string {
  switch (end.kind) {
    case 'answered':
      return end.whole ? String(end.status) : `${end.status} with its answer cut off`;
    case 'unconnected':
    case 'unanswered':
      return end.code;
  }
}
