import { z } from 'zod';
import type { ParkedState } from './item.ts';
import type { DeliveryPolicy } from './policy.ts';
import { type CallEnd, VERDICTS, type Verdict, describeEnd } from './verdict.ts';

/** Free attempts are not free for ever: from this many throttled ones, or failed probes, on, a key spends budget. */
const FREE_ATTEMPTS_PER_KEY = 20;
/** How much of an answer is kept as evidence. */
export const EVIDENCE_BODY_BYTES = 2 * 1024;

/** How one attempt ended, in the upstream's own words. */
const EvidenceSchema = z.object({
  attempt: z.int(),
  /** ISO 8601, by the worker's clock */
  at: z.string(),
  verdict: z.enum(VERDICTS),
  /** the status, or the network's code */
  ended: z.string(),
  /** as it came */
  retryAfter: z.string().nullable(),
  /** the first 2 KiB of the answer, secrets blanked */
  body: z.string(),
});
export type Evidence = Readonly<z.infer<typeof EvidenceSchema>>;

/**
 * What is known of an item's attempts. It travels in the activity's heartbeat details, which the server hands
 * from attempt to attempt, so it survives the worker that wrote it; hence a schema, since that may have been
 * another version of us.
 */
export const AttemptsSchema = z.object({
  /** the newest attempt whose end is in this account; a gap up to the present one is a worker that got lost */
  settledAttempt: z.int(),
  byVerdict: z.record(z.enum(VERDICTS), z.int()),
  /** of the budget */
  spent: z.int(),
  failedProbes: z.int(),
  /** an ambiguous attempt that nothing has resolved: the upstream may have done the work */
  unresolved: z.boolean(),
  /** the call of this attempt may be on its way; where the upstream takes no keys, confirmed before it leaves */
  sendingAttempt: z.int().nullable(),
  /** epoch ms of the first call that may have been applied: the upstream's key window runs from here */
  firstSentAtMs: z.number().nullable(),
  /** epoch ms */
  firstThrottledAtMs: z.number().nullable(),
  last: EvidenceSchema.nullable(),
});
export type Attempts = Readonly<z.infer<typeof AttemptsSchema>>;

export const NO_ATTEMPTS: Attempts = {
  settledAttempt: 0,
  byVerdict: { succeeded: 0, throttled: 0, unavailable: 0, ambiguous: 0, refused: 0, laneFault: 0 },
  spent: 0,
  failedProbes: 0,
  unresolved: false,
  sendingAttempt: null,
  firstSentAtMs: null,
  firstThrottledAtMs: null,
  last: null,
};

/** What follows for the item. A retry's delay is at least 1 ms: the server fails an activity whose delay is 0. */
export type Next =
  | { kind: 'succeeded' }
  | { kind: 'retry'; afterMs: number }
  | { kind: 'park'; state: ParkedState; reason: string };

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
  const { nowMs, probe } = circumstances;
  const byVerdict = { ...attempts.byVerdict, [verdict]: attempts.byVerdict[verdict] + 1 };
  const failed = verdict === 'unavailable' || verdict === 'ambiguous';
  const settled: Attempts = {
    ...attempts,
    settledAttempt: attempt,
    sendingAttempt: null,
    byVerdict,
    failedProbes: attempts.failedProbes + (failed && probe ? 1 : 0),
    unresolved: verdict === 'succeeded' ? false : attempts.unresolved || verdict === 'ambiguous',
    firstThrottledAtMs: attempts.firstThrottledAtMs ?? (verdict === 'throttled' ? nowMs : null),
    last: evidence,
  };
  return spends(settled, verdict, circumstances) ? { ...settled, spent: settled.spent + 1 } : settled;
}

/** A budget counts failures that are the item's own. Throttling and probing are the lane's, up to a point. */
function spends(attempts: Attempts, verdict: Verdict, { probe, othersSucceed }: Circumstances): boolean {
  switch (verdict) {
    case 'unavailable':
    case 'ambiguous':
      return !probe || attempts.failedProbes > FREE_ATTEMPTS_PER_KEY;
    case 'throttled':
      return othersSucceed && attempts.byVerdict.throttled > FREE_ATTEMPTS_PER_KEY;
    case 'succeeded':
    case 'refused':
    case 'laneFault':
      return false;
  }
}

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
  return exhausted(attempts, attempts.last?.ended ?? 'WORKER_LOST', policy, nowMs);
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
function keyWindowPassed(
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

/**
 * Enters the attempts between the account and the present one: their worker was lost, and nobody knows what
 * came of their calls. They are ambiguous, unless each call is preceded by a confirmed claim and there was none.
 *
 * @param attempt the present activity attempt, counted from 1
 * @param firstScheduledAtMs epoch ms; no call of this item left before it
 */
export function settleLost(
  attempts: Attempts,
  attempt: number,
  policy: DeliveryPolicy,
  firstScheduledAtMs: number,
  circumstances: Circumstances,
): Attempts {
  const lost = attempt - 1 - attempts.settledAttempt;
  if (lost <= 0) return attempts;
  const surelyUnsent = policy.idempotency === null && attempts.sendingAttempt === null;
  if (surelyUnsent) return { ...attempts, settledAttempt: attempt - 1 };
  const evidence: Evidence = {
    attempt: attempt - 1,
    at: new Date(circumstances.nowMs).toISOString(),
    verdict: 'ambiguous',
    ended: 'WORKER_LOST',
    retryAfter: null,
    body: '',
  };
  let settled: Attempts = { ...attempts, firstSentAtMs: attempts.firstSentAtMs ?? firstScheduledAtMs };
  for (let i = 0; i < lost; i++) settled = settle(settled, attempt - 1, 'ambiguous', evidence, circumstances);
  return settled;
}

/** Notes that this attempt's call is about to leave. */
export function claimed(attempts: Attempts, attempt: number, nowMs: number): Attempts {
  return { ...attempts, sendingAttempt: attempt, firstSentAtMs: attempts.firstSentAtMs ?? nowMs };
}

/** Notes that this attempt ended without a call: the item goes back unharmed. */
export function givenBack(attempts: Attempts, attempt: number): Attempts {
  return { ...attempts, settledAttempt: attempt, sendingAttempt: null };
}
