import { type Attempts, lastEvidence } from './attempts.ts';
import type { ParkedState } from './item.ts';
import type { DeliveryPolicy } from './policy.ts';
import type { Circumstances } from './settle.ts';
import { type CallEnd, type Verdict, describeEnd } from './verdict.ts';

/** What follows for the item. A retry's delay is at least 1 ms: the server fails an activity whose delay is 0. */
export type Next =
  | { kind: 'succeeded' }
  | { kind: 'retry'; afterMs: number }
  | { kind: 'park'; state: ParkedState; reason: string };

/** Decides what follows from a settled account whose newest attempt ended with this verdict. */
export function decide(
  attempts: Attempts,
  verdict: Verdict,
  end: CallEnd,
  policy: DeliveryPolicy,
  circumstances: Circumstances,
): Next {
  const ended = describeEnd(end, verdict);
  switch (verdict) {
    case 'succeeded':
      return { kind: 'succeeded' };
    case 'refused':
      return park(attempts, ended);
    case 'laneFault':
      // The lane pauses; the item goes back to the queue and waits there, unharmed.
      return { kind: 'retry', afterMs: 1 };
    case 'throttled':
    case 'unavailable':
    case 'ambiguous':
      return (
        exhausted(attempts, ended, policy, circumstances.nowMs) ??
        retry(attempts, verdict, policy, circumstances)
      );
  }
}

/**
 * Whether an item may be tried (again) at all, asked before each call. An answer means: park it.
 *
 * @param deadlineMs epoch ms; null for none
 */
export function mayNotTry(
  attempts: Attempts,
  policy: DeliveryPolicy,
  deadlineMs: number | null,
  nowMs: number,
): Next | undefined {
  if (deadlineMs !== null && nowMs >= deadlineMs)
    return park(attempts, `its deadline, ${new Date(deadlineMs).toISOString()}, passed`);
  return exhausted(attempts, lastEvidence(attempts)?.ended ?? 'WORKER_LOST', policy, nowMs);
}

function exhausted(
  attempts: Attempts,
  ended: string,
  policy: DeliveryPolicy,
  nowMs: number,
): Next | undefined {
  const { budget } = policy.retry;
  if (attempts.unresolved && policy.idempotency === null)
    return park(attempts, `${ended}: the upstream takes no idempotency keys, so it can't be asked twice`);
  if (keyWindowPassed(attempts, policy, nowMs))
    return park(
      attempts,
      `${ended}: the upstream's key window has passed since the first call, so it may have forgotten the key`,
    );
  if (budget !== null && attempts.spent >= budget)
    return park(attempts, `${ended}: its budget of ${budget} is spent`);
  return undefined;
}

/** Past its window, the upstream may take the same key for a new operation; a call may arrive a timeout after it left. */
export function keyWindowPassed(
  { unresolved, firstSentAtMs }: Attempts,
  policy: DeliveryPolicy,
  nowMs: number,
): boolean {
  if (!unresolved || policy.idempotency === null || firstSentAtMs === null) return false;
  return nowMs + policy.timeoutMs >= firstSentAtMs + policy.idempotency.windowMs;
}

/** An item that the upstream may have done is never called dead. */
function park(attempts: Attempts, reason: string): Next {
  return attempts.unresolved
    ? { kind: 'park', state: 'uncertain', reason: `${reason}; an earlier attempt may have been applied` }
    : { kind: 'park', state: 'dead', reason };
}

function retry(
  attempts: Attempts,
  verdict: Verdict,
  policy: DeliveryPolicy,
  { laneClosedForMs, random }: Circumstances,
): Next {
  // Nothing leaves a closed lane, so a retry before it opens would only cost a trip.
  const ownMs = verdict === 'throttled' ? 0 : jitteredBackoff(attempts.spent, policy, random);
  return { kind: 'retry', afterMs: Math.max(1, Math.ceil(Math.max(ownMs, laneClosedForMs))) };
}

/** Full jitter, capped: anything up to `initial` * 2^(failures - 1). */
function jitteredBackoff(
  spent: number,
  { retry: { initialMs, maxMs } }: DeliveryPolicy,
  random: number,
): number {
  return random * Math.min(maxMs, initialMs * 2 ** Math.max(0, spent - 1));
}
