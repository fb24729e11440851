import type { Attempts } from '../../src/domain/attempts.ts';
import type { Evidence } from '../../src/domain/evidence.ts';
import type { DeliveryPolicy } from '../../src/domain/policy.ts';
import type { Circumstances } from '../../src/domain/settle.ts';
import type { CallEnd, Verdict } from '../../src/domain/verdict.ts';

export const NOW = Date.UTC(2026, 7, 12, 17);
export const HOUR_MS = 3_600_000;

export function policyWith(changes: Partial<DeliveryPolicy> = {}): DeliveryPolicy {
  return {
    idempotency: { header: 'Idempotency-Key', windowMs: 24 * HOUR_MS },
    lookup: null,
    verdicts: {},
    timeoutMs: 10_000,
    leaseMs: 30_000,
    retry: { budget: 5, initialMs: 1_000, maxMs: 60_000 },
    deadlineMs: null,
    slotWaitMs: 60_000,
    ...changes,
  };
}

export function circumstances(changes: Partial<Circumstances> = {}): Circumstances {
  return { nowMs: NOW, probe: false, laneClosedForMs: 0, othersSucceed: false, random: 1, ...changes };
}

/** How a call with this verdict may have ended. */
export const ENDS: { readonly [verdict in Verdict]: CallEnd } = {
  succeeded: { kind: 'answered', status: 201, headers: {}, body: '', whole: true },
  throttled: { kind: 'answered', status: 429, headers: {}, body: '', whole: true },
  unavailable: { kind: 'unconnected', code: 'ECONNREFUSED' },
  ambiguous: { kind: 'unanswered', code: 'TIMEOUT' },
  refused: { kind: 'answered', status: 422, headers: {}, body: '', whole: true },
  laneFault: { kind: 'answered', status: 401, headers: {}, body: '', whole: true },
};

export function evidence(attempt: number, verdict: Verdict): Evidence {
  const end = ENDS[verdict];
  return {
    call: 'send',
    attempt,
    round: 0,
    at: new Date(NOW).toISOString(),
    verdict,
    ended: end.kind === 'answered' ? String(end.status) : end.code,
    retryAfter: null,
    body: '',
    holder: 'worker-1',
  };
}

/** Counts of an account, all 0 but these. */
export function counts(some: Partial<Attempts['byVerdict']>): Attempts['byVerdict'] {
  return { succeeded: 0, throttled: 0, unavailable: 0, ambiguous: 0, refused: 0, laneFault: 0, ...some };
}
