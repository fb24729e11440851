import { stringify } from 'yaml';
import type { Quota } from '../../src/dev/upstream/window.ts';
import { formatDuration } from '../../src/domain/duration.ts';

export const LANE = 'bench';

/** A lane's lease with the timeout of its calls, both in ms: the second must fit twice into the first. */
export interface Terms {
  readonly leaseMs: number;
  readonly timeoutMs: number;
}

/** Short, so that a case waits less. */
export const SHORT: Terms = { leaseMs: 6_000, timeoutMs: 2_000 };
/** What a lane has that says nothing about it. */
export const DEFAULT: Terms = { leaseMs: 15_000, timeoutMs: 6_000 };

/** The bench's one lane, to the sample upstream. */
export function lanesYaml(baseUrl: string, quota: Quota, terms: Terms, partitioned: boolean): string {
  const lane = {
    owner: 'whoever runs the bench',
    upstream: {
      baseUrl,
      operations: { release: { method: 'POST', path: '/releases' } },
      timeout: formatDuration(terms.timeoutMs),
      idempotency: { header: 'Idempotency-Key', window: '24h' },
    },
    limit: { requests: quota.requests, per: formatDuration(quota.perMs) },
    retry: { budget: 5, initial: '200ms', max: '2s' },
    deadline: 'none',
    lease: formatDuration(terms.leaseMs),
    ...(partitioned
      ? { partitionBy: { field: 'partition', independence: 'it is the bench that says so' } }
      : {}),
  };
  return stringify({ lanes: { [LANE]: lane } });
}
