import { z } from 'zod';
import { VERDICTS } from './verdict.ts';

/** How much of an answer is kept as evidence. */
export const EVIDENCE_BODY_BYTES = 2 * 1024;
/** How many of the newest attempts are kept, beside the first. An account travels in every beat. */
const RECENT_EVIDENCE = 20;

/** How one call ended, in the upstream's own words. */
export const EvidenceSchema = z.object({
  /** what was asked: to do the item's work, or whether it was done */
  call: z.enum(['send', 'lookup']),
  /** of the item's whole life, from 1 */
  attempt: z.int(),
  /** 0 as it was published, n after its nth redrive */
  round: z.int(),
  /** ISO 8601, by the worker's clock */
  at: z.string(),
  /** of a lookup, `succeeded` says that it told whether the work was done */
  verdict: z.enum(VERDICTS),
  /** the status, or the network's code; of a lookup that proved nothing, why */
  ended: z.string(),
  /** as it came */
  retryAfter: z.string().nullable(),
  /** the first 2 KiB of the answer, secrets blanked */
  body: z.string(),
  /** the process that called; `unknown` where it got lost without a trace */
  holder: z.string(),
});
export type Evidence = Readonly<z.infer<typeof EvidenceSchema>>;

/** e.g. `429 throttled`, `lookup: ECONNREFUSED unavailable`: how failures and reasons begin. */
export function describeEvidence({ call, ended, verdict }: Evidence): string {
  const told = (means: string) => (ended.includes(' ') ? `${ended}, ${means}` : `${ended} ${means}`);
  if (call === 'send') return told(verdict);
  // That the work is not there is an answer, too.
  return `lookup: ${told(verdict === 'succeeded' ? 'answered' : verdict)}`;
}

/** The first and the last 20: how it began, and how it stands. */
export const EvidenceKeptSchema = z.object({
  first: EvidenceSchema.nullable(),
  /** oldest first */
  recent: z.array(EvidenceSchema),
});
export type EvidenceKept = Readonly<z.infer<typeof EvidenceKeptSchema>>;

/** All that is kept, oldest first. */
export function keptEvidence({ first, recent }: EvidenceKept): Evidence[] {
  const isAmongRecent =
    first === null || recent.some(({ attempt, call, at }) => isSame({ attempt, call, at }, first));
  return isAmongRecent ? [...recent] : [first, ...recent];
}

function isSame(one: Pick<Evidence, 'attempt' | 'call' | 'at'>, other: Evidence): boolean {
  return one.attempt === other.attempt && one.call === other.call && one.at === other.at;
}

export function keepEvidence({ first, recent }: EvidenceKept, evidence: Evidence): EvidenceKept {
  return { first: first ?? evidence, recent: [...recent, evidence].slice(-RECENT_EVIDENCE) };
}
