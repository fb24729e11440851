import type { Receipt } from '../domain/delivery.ts';
import { fieldAt, parseJson } from '../domain/json-field.ts';
import type { LaneConfig } from '../domain/policy.ts';
import type { CallEnd } from '../domain/verdict.ts';
import { blankSecrets } from '../lane/blank-secrets.ts';

/** What an answer proves of a completion. */
export function receiptOf(
  answer: Extract<CallEnd, { kind: 'answered' }>,
  config: Pick<LaneConfig, 'receiptId' | 'secrets'>,
  foundBy: Receipt['foundBy'],
  attempt: number,
  at: string,
): Receipt {
  const id = idIn(answer.body, config.receiptId) ?? answer.headers.location ?? null;
  return {
    status: answer.status,
    upstreamId: id === null ? null : blankSecrets(id, config.secrets).slice(0, 255),
    replayed: answer.headers.idempotentReplayed?.trim().toLowerCase() === 'true',
    foundBy,
    at,
    attempt,
    by: null,
    reason: null,
  };
}

/**
 * The text or whole number at a dotted path of a JSON answer; undefined where there is none, and for a number that
 * JSON.parse has rounded: it would name something else.
 */
function idIn(body: string, path: string): string | undefined {
  const value = fieldAt(parseJson(body), path);
  const exact = typeof value === 'string' ? value !== '' : Number.isSafeInteger(value);
  return exact ? String(value) : undefined;
}
