import { z } from 'zod';
import type { DeliveryPolicy } from './policy.ts';
import { VERDICTS, type Verdict } from './verdict.ts';

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

/**
 * Reads the account that the server handed on from the attempt before. One that can't be read, perhaps of another
 * version of us, told of attempts all the same: they count as lost, each with its call on the way.
 *
 * @param attempt the present activity attempt, counted from 1
 */
export function readAttempts(details: unknown, attempt: number): Attempts {
  if (details === undefined) return NO_ATTEMPTS;
  const parsed = AttemptsSchema.safeParse(details);
  return parsed.success ? parsed.data : { ...NO_ATTEMPTS, sendingAttempt: attempt - 1 };
}

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
  const unresolved = verdict !== 'succeeded' && (attempts.unresolved || verdict === 'ambiguous');
  const settled: Attempts = {
    ...attempts,
    settledAttempt: attempt,
    sendingAttempt: null,
    byVerdict,
    failedProbes: attempts.failedProbes + (failed && probe ? 1 : 0),
    unresolved,
    firstSentAtMs: unresolved ? attempts.firstSentAtMs : null,
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
  const firstSentAtMs = attempts.unresolved ? attempts.firstSentAtMs : null;
  return { ...attempts, settledAttempt: attempt, sendingAttempt: null, firstSentAtMs };
}
