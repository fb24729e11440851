import type { Receipt } from '../domain/delivery.ts';
import type { LaneConfig } from '../domain/policy.ts';
import type { CallEnd } from '../domain/verdict.ts';
import { blankSecrets } from '../lane/blank-secrets.ts';

/** What an answer proves of a completion. */
export function receiptOf(
  answer: Extract<CallEnd, { kind: 'answered' }>,
  config: Pick<LaneConfig, 'receiptId' | 'secrets'>,
  attempt: number,
  at: string,
): Receipt {
  const id = idIn(answer.body, config.receiptId) ?? answer.headers.location ?? null;
  return {
    status: answer.status,
    upstreamId: id === null ? null : blankSecrets(id, config.secrets).slice(0, 255),
    replayed: answer.headers.idempotentReplayed?.trim().toLowerCase() === 'true',
    foundBy: 'answer',
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
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Object.entries(value).find(([member]) => member === name)?.[1];
  }
  const exact = typeof value === 'string' ? value !== '' : Number.isSafeInteger(value);
  return exact ? String(value) : undefined;
}
