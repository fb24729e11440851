import { EVIDENCE_BODY_BYTES, type Evidence } from '../domain/evidence.ts';
import { type CallEnd, type Verdict, endedAs } from '../domain/verdict.ts';
import { blankSecrets } from '../lane/blank-secrets.ts';

/** What is kept of how an attempt ended: the upstream's own words, without our secrets. */
export function evidenceOf(
  end: CallEnd,
  verdict: Verdict,
  of: Pick<Evidence, 'call' | 'attempt' | 'round' | 'holder'>,
  atMs: number,
  secrets: readonly string[],
): Evidence {
  const seen = { ...of, at: new Date(atMs).toISOString(), verdict, ended: endedAs(end) };
  if (end.kind !== 'answered') return { ...seen, retryAfter: null, body: '' };
  const { retryAfter } = end.headers;
  return {
    ...seen,
    retryAfter: retryAfter === undefined ? null : blankSecrets(retryAfter, secrets),
    body: firstBytes(blankSecrets(end.body, secrets), EVIDENCE_BODY_BYTES),
  };
}

function firstBytes(text: string, count: number): string {
  const bytes = Buffer.from(text);
  // A character cut in two becomes U+FFFD at most.
  return bytes.length <= count ? text : bytes.subarray(0, count).toString('utf8');
}
