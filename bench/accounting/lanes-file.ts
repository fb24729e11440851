import { stringify } from 'yaml';
import { formatDuration } from '../../src/domain/duration.ts';
import { SHORT } from '../fleet/lanes-file.ts';
import { type Kind, QUOTA } from './kinds.ts';

/** One lane for each kind of upstream. */
export function lanesYaml(lanes: readonly { readonly kind: Kind; readonly url: string }[]): string {
  return stringify({
    lanes: Object.fromEntries(lanes.map(({ kind, url }) => [kind.lane, laneOf(kind, url)])),
  });
}

function laneOf({ keyWindow, lookup }: Kind, baseUrl: string): object {
  return {
    owner: 'whoever runs the accounting',
    upstream: {
      baseUrl,
      operations: { release: { method: 'POST', path: '/releases' } },
      timeout: formatDuration(SHORT.timeoutMs),
      idempotency: keyWindow === null ? 'none' : { header: 'Idempotency-Key', window: keyWindow },
      ...(lookup ? { lookup: { path: '/effects/{key}' } } : {}),
    },
    limit: { requests: QUOTA.requests, per: formatDuration(QUOTA.perMs) },
    // So few that some items are given up, and wait for an operator.
    retry: { budget: 3, initial: '200ms', max: '2s' },
    deadline: 'none',
    lease: formatDuration(SHORT.leaseMs),
  };
}
