import { z } from 'zod';
import { type Evidence, EvidenceKeptSchema } from './evidence.ts';
import { VERDICTS } from './verdict.ts';

/**
 * What is known of an item's attempts. It travels in the activity's heartbeat details, which the server hands
 * from attempt to attempt, so it survives the worker that wrote it; hence a schema, since that may have been
 * another version of us. From one activity of an item to its next, the item's workflow hands it on.
 */
export const AttemptsSchema = EvidenceKeptSchema.extend({
  /** attempts of the item's earlier activities */
  before: z.int(),
  /** the newest attempt of this activity whose end is in this account; a gap up to the present one is a worker that got lost */
  settledAttempt: z.int(),
  /** of calls that asked to do the work */
  byVerdict: z.record(z.enum(VERDICTS), z.int()),
  /** calls that asked whether it was done */
  lookups: z.int(),
  /** of the budget */
  spent: z.int(),
  /** since the budget was fresh */
  failedProbes: z.int(),
  /** since the budget was fresh */
  throttled: z.int(),
  /** an ambiguous attempt that nothing has resolved: the upstream may have done the work */
  unresolved: z.boolean(),
  /** an attempt of this round ended ambiguous: a risk that was accepted at its redrive does not cover it */
  ambiguousThisRound: z.boolean(),
  /** the call of an ambiguous attempt may still be on its way: that a lookup does not find it proves nothing */
  mayStillArrive: z.boolean(),
  /** how the upstream refused the item, while an earlier attempt is unresolved */
  refusal: z.string().nullable(),
  /** the call of this attempt may be on its way; where the upstream takes no keys, confirmed before it leaves */
  sendingAttempt: z.int().nullable(),
  /** the process whose call that is */
  sendingBy: z.string().nullable(),
  /** epoch ms of the first call that may have been applied: the upstream's key window runs from here */
  firstSentAtMs: z.number().nullable(),
  /** epoch ms */
  firstThrottledAtMs: z.number().nullable(),
});
export type Attempts = Readonly<z.infer<typeof AttemptsSchema>>;

export const NO_ATTEMPTS: Attempts = {
  before: 0,
  settledAttempt: 0,
  byVerdict: { succeeded: 0, throttled: 0, unavailable: 0, ambiguous: 0, refused: 0, laneFault: 0 },
  lookups: 0,
  spent: 0,
  failedProbes: 0,
  throttled: 0,
  unresolved: false,
  ambiguousThisRound: false,
  mayStillArrive: false,
  refusal: null,
  sendingAttempt: null,
  sendingBy: null,
  firstSentAtMs: null,
  firstThrottledAtMs: null,
  first: null,
  recent: [],
};

/**
 * Reads the account that the server handed on from the attempt before. One that can't be read, perhaps of another
 * version of us, told of attempts all the same: they count as lost, each with its call on the way.
 *
 * @param attempt the present activity attempt, counted from 1
 * @param account of the item's earlier activities; null in its first
 */
export function readAttempts(details: unknown, attempt: number, account: Attempts | null = null): Attempts {
  const earlier = account ?? NO_ATTEMPTS;
  if (details === undefined) return earlier;
  const parsed = AttemptsSchema.safeParse(details);
  return parsed.success ? parsed.data : { ...earlier, sendingAttempt: attempt - 1 };
}

/** To another activity of the item, whose attempts the server counts from 1 again. The budget goes on. */
export function handOn(attempts: Attempts): Attempts {
  return {
    ...attempts,
    before: attempts.before + attempts.settledAttempt,
    settledAttempt: 0,
    sendingAttempt: null,
    sendingBy: null,
    // Nobody knows here for how long the item has rested.
    mayStillArrive: attempts.unresolved,
  };
}

/** To the activity that follows a redrive: a fresh budget, and all that was learned. */
export function redriven(attempts: Attempts): Attempts {
  return {
    ...handOn(attempts),
    spent: 0,
    failedProbes: 0,
    throttled: 0,
    firstThrottledAtMs: null,
    refusal: null,
    ambiguousThisRound: false,
  };
}

/**
 * Of a run that was reset: what went before is unknown, so it may have been applied, and no risk was accepted for it.
 *
 * @param startedAtMs epoch ms; no call of this item left before it
 */
export function afterReset(startedAtMs: number, known: Attempts = NO_ATTEMPTS): Attempts {
  return {
    ...known,
    unresolved: true,
    ambiguousThisRound: true,
    mayStillArrive: true,
    firstSentAtMs: known.firstSentAtMs ?? startedAtMs,
  };
}

/** The newest evidence. */
export function lastEvidence({ recent }: Attempts) {
  return recent.at(-1) ?? null;
}

/** What was counted and how each attempt ended, without what the upstream said: small enough to be kept twice. */
export function withoutBodies(attempts: Attempts): Attempts {
  const { first, recent } = attempts;
  return { ...attempts, first: first && withoutBody(first), recent: recent.map(withoutBody) };
}

function withoutBody(evidence: Evidence): Evidence {
  return { ...evidence, body: '' };
}
