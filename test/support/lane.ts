import type { DeliveryPolicy, LaneConfig, LanePolicy } from '../../src/domain/policy.ts';

export interface LaneChanges extends Partial<Omit<LaneConfig, 'policy'>> {
  readonly delivery?: Partial<DeliveryPolicy>;
  readonly policy?: Partial<Omit<LanePolicy, 'lane' | 'delivery'>>;
}

/**
 * A lane to one operation, `POST /releases`, whose waits are as short as tests like them. Its quota is no hindrance,
 * nor is the full window that a starting consumer assumes.
 */
export function laneConfig(lane: string, baseUrl: string, changes: LaneChanges = {}): LaneConfig {
  const { delivery, policy, ...rest } = changes;
  return {
    policy: {
      lane,
      owner: 'release-engineering',
      operations: { release: { method: 'POST', path: '/releases' } },
      keyTemplate: null,
      lookupPath: null,
      partitionBy: null,
      ...policy,
      delivery: {
        idempotency: { header: 'Idempotency-Key', windowMs: 24 * 3_600_000 },
        lookup: null,
        verdicts: {},
        timeoutMs: 1_500,
        leaseMs: 10_000,
        retry: { budget: 5, initialMs: 20, maxMs: 100 },
        deadlineMs: null,
        slotWaitMs: 60_000,
        ...delivery,
      },
    },
    baseUrl,
    headers: {},
    secrets: [],
    partitions: {},
    limit: { requests: 20, perMs: 20, burst: 20, arrivalWithinMs: null },
    maxInFlight: 1,
    retryAfterMaxMs: 24 * 3_600_000,
    receiptId: 'id',
    dedupWindowMs: 24 * 3_600_000,
    idleAfterMs: 60_000,
    fingerprint: 'f1',
    ...rest,
  };
}
