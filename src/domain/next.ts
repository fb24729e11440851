import { type Attempts, lastEvidence } from './attempts.ts';
import type { CallTask } from './delivery.ts';
import { describeEvidence } from './evidence.ts';
import type { ParkedState } from './item.ts';
import type { DeliveryPolicy } from './policy.ts';
import type { Circumstances } from './settle.ts';
import type { Verdict } from './verdict.ts';

/** By what an item goes. */
export type Terms = Pick<CallTask, 'policy' | 'deadlineMs' | 'lookupPath' | 'acceptRisk'>;

export interface Park {
  kind: 'park';
  state: ParkedState;
  reason: string;
}

/** What an item may do, asked before each call. */
export type Step =
  | { kind: 'send' }
  /** ask whether an earlier call was applied */
  | { kind: 'lookUp' }
  /** before it may ask: an earlier call could still arrive, and what is not there yet is not absent */
  | { kind: 'rest'; forMs: number }
  | Park;

/** What follows for the item. A retry's delay is at least 1 ms: the server fails an activity whose delay is 0. */
export type Next = { kind: 'succeeded' } | { kind: 'retry'; afterMs: number } | Park;

/** Decides what may leave for an item next, if anything. */
export function nextStep(attempts: Attempts, terms: Terms, nowMs: number): Step {
  const { policy, deadlineMs } = terms;
  if (deadlineMs !== null && nowMs >= deadlineMs)
    return park(attempts, `its deadline, ${new Date(deadlineMs).toISOString()}, passed`);
  const over = whyOver(attempts, policy);
  if (!attempts.unresolved) return over === undefined ? { kind: 'send' } : park(attempts, over);

  // From here on, the upstream may have done it.
  const unsafe = whyUnsafe(attempts, policy, nowMs);
  if (over === undefined && unsafe === undefined) return { kind: 'send' };
  if (mayLookUp(attempts, terms))
    return attempts.mayStillArrive ? { kind: 'rest', forMs: policy.timeoutMs } : { kind: 'lookUp' };
  const accepted = terms.acceptRisk && terms.lookupPath === null && !attempts.ambiguousThisRound;
  if (over === undefined && accepted) return { kind: 'send' };
  return park(attempts, over ?? unsafe ?? '');
}

/** Decides what follows from a settled account whose newest call ended with this verdict. */
export function decide(
  attempts: Attempts,
  verdict: Verdict,
  terms: Terms,
  circumstances: Circumstances,
): Next {
  if (verdict === 'succeeded') return { kind: 'succeeded' };
  // The lane pauses; the item goes back to the queue and waits there, unharmed.
  if (verdict === 'laneFault') return { kind: 'retry', afterMs: 1 };
  const step = nextStep(attempts, terms, circumstances.nowMs);
  switch (step.kind) {
    case 'park':
      return step;
    case 'send':
    case 'lookUp':
      return retry(attempts, verdict, terms.policy, circumstances, 0);
    case 'rest':
      return retry(attempts, verdict, terms.policy, circumstances, step.forMs);
  }
}

/** Why nothing more is sent for the item, whatever the upstream may have done. */
function whyOver(attempts: Attempts, policy: DeliveryPolicy): string | undefined {
  const { budget } = policy.retry;
  if (attempts.refusal !== null) return `${attempts.refusal} refused`;
  if (budget !== null && attempts.spent >= budget)
    return `${lastEnd(attempts)}: its budget of ${budget} is spent`;
  return undefined;
}

/** Why the same call could be a second effect. */
function whyUnsafe(attempts: Attempts, policy: DeliveryPolicy, nowMs: number): string | undefined {
  if (policy.idempotency === null)
    return `${lastEnd(attempts)}: the upstream takes no idempotency keys, so it can't be asked twice`;
  if (keyWindowPassed(attempts, policy, nowMs))
    return `${lastEnd(attempts)}: the upstream's key window has passed since the first call, so it may have forgotten the key`;
  return undefined;
}

/** Past its window, the upstream may take the same key for a new operation; a call may arrive a timeout after it left. */
export function keyWindowPassed(
  { unresolved, firstSentAtMs }: Attempts,
  policy: DeliveryPolicy,
  nowMs: number,
): boolean {
  if (!unresolved || policy.idempotency === null) return false;
  return firstSentAtMs === null || nowMs + policy.timeoutMs >= firstSentAtMs + policy.idempotency.windowMs;
}

/** A spent budget leaves one lookup: asking is no second effect, and the answer spares a person the question. */
function mayLookUp({ spent }: Attempts, { policy, lookupPath }: Terms): boolean {
  if (policy.lookup === null || lookupPath === null) return false;
  return policy.retry.budget === null || spent <= policy.retry.budget;
}

/** An item that the upstream may have done is never called dead. */
function park(attempts: Attempts, reason: string): Park {
  return attempts.unresolved
    ? { kind: 'park', state: 'uncertain', reason: `${reason}; an earlier attempt may have been applied` }
    : { kind: 'park', state: 'dead', reason };
}

function lastEnd(attempts: Attempts): string {
  const last = lastEvidence(attempts);
  return last === null ? 'nothing is known of its attempts' : describeEvidence(last);
}

function retry(
  attempts: Attempts,
  verdict: Verdict,
  policy: DeliveryPolicy,
  { laneClosedForMs, random }: Circumstances,
  leastMs: number,
): Next {
  // Nothing leaves a closed lane, so a retry before it opens would only cost a trip.
  const ownMs = verdict === 'throttled' ? 0 : jitteredBackoff(attempts.spent, policy, random);
  return { kind: 'retry', afterMs: Math.max(1, Math.ceil(Math.max(ownMs, laneClosedForMs, leastMs))) };
}

/** Full jitter, capped: anything up to `initial` * 2^(failures - 1). */
function jitteredBackoff(
  spent: number,
  { retry: { initialMs, maxMs } }: DeliveryPolicy,
  random: number,
): number {
  return random * Math.min(maxMs, initialMs * 2 ** Math.max(0, spent - 1));
}
