import type { Attempts } from './attempts.ts';
import { type Evidence, keepEvidence } from './evidence.ts';
import type { LookupReading } from './lookup.ts';
import type { DeliveryPolicy } from './policy.ts';
import type { Verdict } from './verdict.ts';

/** Free attempts are not free for ever: from this many throttled ones, or failed probes, on, a key spends budget. */
const FREE_ATTEMPTS_PER_KEY = 20;

/** What a decision needs beside the account: the lane at this moment, the clock, and chance. */
export interface Circumstances {
  readonly nowMs: number;
  /** the call went alone after the lane had been closed */
  readonly probe: boolean;
  /** how long the lane stays closed from now on; 0 when it is open */
  readonly laneClosedForMs: number;
  /** the lane succeeded with another key since this one was first throttled */
  readonly othersSucceed: boolean;
  /** 0 to 1, for the jitter */
  readonly random: number;
}

/** Enters an attempt's end into the account. */
export function settle(
  attempts: Attempts,
  attempt: number,
  verdict: Verdict,
  evidence: Evidence,
  circumstances: Circumstances,
): Attempts {
  const ambiguous = verdict === 'ambiguous';
  const unresolved = verdict !== 'succeeded' && (attempts.unresolved || ambiguous);
  return {
    ...charged(attempts, verdict, circumstances),
    ...keepEvidence(attempts, evidence),
    settledAttempt: attempt,
    sendingAttempt: null,
    sendingBy: null,
    byVerdict: { ...attempts.byVerdict, [verdict]: attempts.byVerdict[verdict] + 1 },
    unresolved,
    ambiguousThisRound: attempts.ambiguousThisRound || ambiguous,
    mayStillArrive: unresolved && (attempts.mayStillArrive || ambiguous),
    refusal: verdict === 'refused' ? evidence.ended : attempts.refusal,
    firstSentAtMs: unresolved ? attempts.firstSentAtMs : null,
  };
}

/**
 * Enters a lookup's end into the account. The attempt itself goes on where the work was not done and may be sent now.
 *
 * @param verdict of a lookup that proved nothing: why; `refused` is a failure as any other here
 */
export function settleLookup(
  attempts: Attempts,
  reading: LookupReading,
  verdict: Verdict,
  evidence: Evidence,
  circumstances: Circumstances,
): Attempts {
  const asked = { ...attempts, ...keepEvidence(attempts, evidence), lookups: attempts.lookups + 1 };
  switch (reading.kind) {
    case 'found':
    case 'absent':
      return { ...asked, unresolved: false, mayStillArrive: false, firstSentAtMs: null };
    case 'noEvidence':
      return charged(asked, verdict === 'refused' ? 'ambiguous' : verdict, circumstances);
  }
}

/** A budget counts failures that are the item's own. Throttling and probing are the lane's, up to a point. */
function charged(attempts: Attempts, verdict: Verdict, circumstances: Circumstances): Attempts {
  const { nowMs, probe, othersSucceed } = circumstances;
  switch (verdict) {
    case 'unavailable':
    case 'ambiguous': {
      const failedProbes = attempts.failedProbes + (probe ? 1 : 0);
      return spending({ ...attempts, failedProbes }, !probe || failedProbes > FREE_ATTEMPTS_PER_KEY);
    }
    case 'throttled': {
      const throttled = attempts.throttled + 1;
      const firstThrottledAtMs = attempts.firstThrottledAtMs ?? nowMs;
      const tooOften = othersSucceed && throttled > FREE_ATTEMPTS_PER_KEY;
      return spending({ ...attempts, throttled, firstThrottledAtMs }, tooOften);
    }
    case 'succeeded':
    case 'refused':
    case 'laneFault':
      return attempts;
  }
}

function spending(attempts: Attempts, spends: boolean): Attempts {
  return spends ? { ...attempts, spent: attempts.spent + 1 } : attempts;
}

/** Notes that the item rests before its next call: after a whole timeout, none of its earlier ones is on its way. */
export function rested(attempts: Attempts, forMs: number, timeoutMs: number): Attempts {
  return forMs >= timeoutMs ? { ...attempts, mayStillArrive: false } : attempts;
}

/**
 * Enters the attempts between the account and the present one: their worker was lost, and nobody knows what
 * came of their calls. They are ambiguous, unless each call is preceded by a confirmed claim and there was none.
 *
 * @param attempt the present activity attempt, counted from 1
 * @param firstScheduledAtMs epoch ms; no call of this activity left before it
 */
export function settleLost(
  attempts: Attempts,
  attempt: number,
  round: number,
  policy: DeliveryPolicy,
  firstScheduledAtMs: number,
  circumstances: Circumstances,
): Attempts {
  const lost = attempt - 1 - attempts.settledAttempt;
  if (lost <= 0) return attempts;
  const surelyUnsent = policy.idempotency === null && attempts.sendingAttempt === null;
  if (surelyUnsent) return { ...attempts, settledAttempt: attempt - 1 };
  const evidence: Evidence = {
    call: 'send',
    attempt: attempts.before + attempt - 1,
    round,
    at: new Date(circumstances.nowMs).toISOString(),
    verdict: 'ambiguous',
    ended: 'WORKER_LOST',
    retryAfter: null,
    body: '',
    holder: attempts.sendingBy ?? 'unknown',
  };
  let settled: Attempts = { ...attempts, firstSentAtMs: attempts.firstSentAtMs ?? firstScheduledAtMs };
  for (let i = 0; i < lost; i++) settled = settle(settled, attempt - 1, 'ambiguous', evidence, circumstances);
  return settled;
}

/** Enters one attempt more, which may have begun after the account was read: nobody knows what came of it. */
export function settleCut(
  attempts: Attempts,
  round: number,
  policy: DeliveryPolicy,
  nowMs: number,
): Attempts {
  const cut = attempts.settledAttempt + 1;
  const begun = { ...attempts, sendingAttempt: cut };
  return settleLost(begun, cut + 1, round, policy, nowMs, lookedAt(nowMs));
}

/** When an account is settled from outside, nothing is known of its lane. */
export function lookedAt(nowMs: number): Circumstances {
  return { nowMs, probe: false, laneClosedForMs: 0, othersSucceed: false, random: 0 };
}

/** Notes that this attempt's call is about to leave. */
export function claimed(attempts: Attempts, attempt: number, holder: string, nowMs: number): Attempts {
  return {
    ...attempts,
    sendingAttempt: attempt,
    sendingBy: holder,
    firstSentAtMs: attempts.firstSentAtMs ?? nowMs,
  };
}

/** Notes that this attempt ended without a call: the item goes back unharmed. */
export function givenBack(attempts: Attempts, attempt: number): Attempts {
  const firstSentAtMs = attempts.unresolved ? attempts.firstSentAtMs : null;
  return { ...attempts, settledAttempt: attempt, sendingAttempt: null, sendingBy: null, firstSentAtMs };
}
