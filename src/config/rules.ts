import type { z } from 'zod';
import { formatDuration } from '../domain/duration.ts';
import { type Fault, type Path, fault, valueAt } from './faults.ts';
import { LaneSchema } from './schema.ts';

const { limit, retry, upstream, lease, maxInFlight, partitionBy } = LaneSchema.shape;

/** What a lease needs beside the call itself: its confirmation may be as old as one timeout, and a beat takes time. */
const LEASE_MARGIN_MS = 1_000;

/** An item is in Temporal's lists a moment after it started; how long a moment, depends on their store. */
const LEAST_IDLE_MS = 10_000;

/**
 * Checks what fields say about each other. Each rule runs as soon as the fields that it compares are sound,
 * whatever else is wrong, so that one error names every fault.
 */
export function ruleFaults(raw: unknown, at: Path): Fault[] {
  const sound = <Schema extends z.ZodType>(schema: Schema, ...path: string[]) => {
    const result = schema.safeParse(valueAt(raw, path));
    return result.success ? result.data : undefined;
  };
  const granted = sound(limit.shape.requests, 'limit', 'requests');
  const share = sound(limit.shape.share, 'limit', 'share');
  const requests = granted !== undefined && share !== undefined ? shareOf(granted, share) : undefined;
  const timeout = sound(upstream.shape.timeout, 'upstream', 'timeout');
  const leaseMs = sound(lease, 'lease');
  const arrivalWithin = sound(limit.shape.arrivalWithin, 'limit', 'arrivalWithin');
  const initial = sound(retry.shape.initial, 'retry', 'initial');
  const max = sound(retry.shape.max, 'retry', 'max');
  const faults: Fault[] = [];

  if (requests === 0)
    faults.push(
      fault(
        [...at, 'limit', 'share'],
        `expected at least 1 request, got ${share}% of ${granted}, rounded down`,
      ),
    );
  if (requests !== undefined && requests > 0) {
    const atMostRequests = (value: number | undefined, ...path: string[]) => {
      if (value !== undefined && value > requests)
        faults.push(
          fault([...at, ...path], `expected at most the ${requests} requests of the limit, got ${value}`),
        );
    };
    atMostRequests(sound(limit.shape.burst, 'limit', 'burst'), 'limit', 'burst');
    atMostRequests(sound(maxInFlight, 'maxInFlight'), 'maxInFlight');
  }
  if (initial !== undefined && max !== undefined && initial > max)
    faults.push(
      fault(
        [...at, 'retry', 'initial'],
        `expected at most retry.max (${formatDuration(max)}), got ${formatDuration(initial)}`,
      ),
    );
  if (arrivalWithin !== undefined && timeout !== undefined && arrivalWithin > timeout)
    faults.push(
      fault(
        [...at, 'limit', 'arrivalWithin'],
        `expected at most upstream.timeout (${formatDuration(timeout)}), got ${formatDuration(arrivalWithin)}`,
      ),
    );
  if (timeout !== undefined && leaseMs !== undefined && 2 * timeout + LEASE_MARGIN_MS > leaseMs)
    faults.push(
      fault(
        [...at, 'lease'],
        `expected at least twice upstream.timeout and 1s (${formatDuration(2 * timeout + LEASE_MARGIN_MS)}), ` +
          `got ${formatDuration(leaseMs)}: a call leaves only while its timeout ends before the lease could`,
      ),
    );
  return [...faults, ...partitionFaults(raw, at)];
}

/** Our part of what the upstream grants. */
export function shareOf(requests: number, percent: number): number {
  return Math.floor((requests * percent) / 100);
}

function partitionFaults(raw: unknown, at: Path): Fault[] {
  const faults: Fault[] = [];
  const key = valueAt(raw, ['key']);
  const partitioned = valueAt(raw, ['partitionBy']) !== undefined;
  // Keys are unique per namespace, so two partitions must not make the same one.
  if (partitioned && typeof key === 'string' && !key.includes('{partition}'))
    faults.push(
      fault(
        [...at, 'key'],
        `expected {partition} in it, since the lane has partitionBy, got ${JSON.stringify(key)}`,
      ),
    );
  const idleAfter = partitionBy
    .unwrap()
    .shape.idleAfter.safeParse(valueAt(raw, ['partitionBy', 'idleAfter']));
  if (idleAfter.success && idleAfter.data < LEAST_IDLE_MS)
    faults.push(
      fault(
        [...at, 'partitionBy', 'idleAfter'],
        `expected at least ${formatDuration(LEAST_IDLE_MS)}, got ${formatDuration(idleAfter.data)}: ` +
          `the list of open items, which tells whether a lane is idle, may be some seconds old`,
      ),
    );
  return faults;
}
