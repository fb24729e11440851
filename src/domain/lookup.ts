import { fieldAt, parseJson } from './json-field.ts';
import { type CallEnd, type Verdict, endedAs, verdictOf } from './verdict.ts';

/** What an answer to 'was this done?' proves. */
export type LookupReading =
  { kind: 'found' } | { kind: 'absent'; status: number } | { kind: 'noEvidence'; why: string };

/**
 * Reads the end of a lookup. Evidence is only a whole answer that shows this very key's record, or says in JSON that
 * there is none: an error page, somebody else's record and silence prove nothing.
 *
 * @param keyField where the answer repeats the key, dotted, e.g. `key` or `data.reference`
 */
export function readLookup(end: CallEnd, key: string, keyField: string): LookupReading {
  if (end.kind !== 'answered' || !end.whole) return noEvidence(endedAs(end));
  const { status, body } = end;
  const value = parseJson(body);
  if (status === 404 || status === 410)
    return value === undefined ? noEvidence(`${status} without JSON`) : { kind: 'absent', status };
  if (status < 200 || status > 299) return noEvidence(String(status));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return noEvidence(`${status} without a JSON object`);
  // Its value is not quoted: it is the upstream's, and may be anything.
  return fieldAt(value, keyField) === key
    ? { kind: 'found' }
    : noEvidence(`${status} whose ${keyField} is not the key`);
}

/**
 * What the end of a lookup means for the lane: that something is not there is an answer as good as another, and so is
 * one that proves nothing, since the upstream is up.
 */
export function lookupVerdict(end: CallEnd, reading: LookupReading, retryAfterUsable: boolean): Verdict {
  if (reading.kind !== 'noEvidence') return 'succeeded';
  return verdictOf(end, { idempotency: null, verdicts: {} }, retryAfterUsable);
}

function noEvidence(why: string): LookupReading {
  return { kind: 'noEvidence', why };
}
