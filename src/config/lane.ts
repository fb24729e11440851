import { boundDepth, digest } from '../domain/canonical.ts';
import type { LaneConfig } from '../domain/policy.ts';
import { type Fault, type Path, faultsOf, isMapping, valueAt } from './faults.ts';
import { ruleFaults, shareOf } from './rules.ts';
import { type LaneFields, LaneSchema } from './schema.ts';
import { readBaseUrl, readHeaders } from './upstream.ts';

/**
 * What a call may sit in the slot beside its own waits and timeouts: connecting, confirming the lease, the
 * probe after a short closure (closures of more than 5 s give the item back), a worker that is slow.
 */
const SLOT_WAIT_MARGIN_MS = 60_000;

/** What of a lane depends on the environment. */
interface Upstream {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly partitions: LaneConfig['partitions'];
}

/**
 * Checks one lane of the file; every fault is added to `faults`.
 *
 * @returns undefined when its fields could not be read; a lane is sound only if no fault was added
 */
export function readLane(
  name: string,
  raw: unknown,
  env: NodeJS.ProcessEnv,
  faults: Fault[],
): LaneConfig | undefined {
  const at = ['lanes', name];
  const parsed = LaneSchema.safeParse(raw);
  if (!parsed.success) faults.push(...faultsOf(parsed.error.issues, raw, at));
  faults.push(...ruleFaults(raw, at));
  const upstream = readUpstream(raw, at, env, faults);
  return parsed.success ? laneConfig(name, parsed.data, upstream) : undefined;
}

/** Reads from the raw lane, so that an unset variable is named also where other fields are at fault. */
function readUpstream(raw: unknown, at: Path, env: NodeJS.ProcessEnv, faults: Fault[]): Upstream {
  const idempotency = LaneSchema.shape.upstream.shape.idempotency.safeParse(
    valueAt(raw, ['upstream', 'idempotency']),
  );
  const keyHeader = idempotency.data?.header;
  const headersAt = (...path: string[]) =>
    readHeaders(valueAt(raw, path), [...at, ...path], env, keyHeader, faults);

  const partitions = valueAt(raw, ['partitionBy', 'headers']);
  const names = isMapping(partitions) ? Object.keys(partitions) : [];

  const baseUrl = valueAt(raw, ['upstream', 'baseUrl']);
  return {
    baseUrl:
      typeof baseUrl === 'string' ? readBaseUrl(baseUrl, [...at, 'upstream', 'baseUrl'], env, faults) : '',
    ...headersAt('upstream', 'headers'),
    partitions: Object.fromEntries(
      names.map((partition) => [partition, headersAt('partitionBy', 'headers', partition)]),
    ),
  };
}

function laneConfig(name: string, lane: LaneFields, upstream: Upstream): LaneConfig {
  const { timeout, idempotency, lookup } = lane.upstream;
  const config: Omit<LaneConfig, 'fingerprint'> = {
    policy: {
      lane: name,
      owner: lane.owner,
      operations: lane.upstream.operations,
      keyTemplate: lane.key ?? null,
      lookupPath: lookup?.path ?? null,
      partitionBy: partitionPolicy(lane),
      delivery: {
        idempotency:
          idempotency === null ? null : { header: idempotency.header, windowMs: idempotency.window },
        lookup: lookup === undefined ? null : { keyField: lookup.keyField },
        verdicts: lane.upstream.verdicts,
        timeoutMs: timeout,
        leaseMs: lane.lease,
        retry: { budget: lane.retry.budget, initialMs: lane.retry.initial, maxMs: lane.retry.max },
        deadlineMs: lane.deadline,
        // After a start or a takeover a full window counts as just used, and the calls before this one take another:
        // those that left, and the one whose item waits before this one's. A lookup is a call and a turn more, of this
        // item and of the one before.
        slotWaitMs:
          3 * lane.limit.per +
          2 * timeout +
          SLOT_WAIT_MARGIN_MS +
          (lookup === undefined ? 0 : 2 * (lane.limit.per + timeout)),
      },
    },
    ...upstream,
    limit: {
      requests: shareOf(lane.limit.requests, lane.limit.share),
      perMs: lane.limit.per,
      burst: lane.limit.burst,
      arrivalWithinMs: lane.limit.arrivalWithin ?? null,
    },
    maxInFlight: lane.maxInFlight,
    retryAfterMaxMs: lane.retryAfterMax,
    receiptId: lane.upstream.receiptId,
    dedupWindowMs: lane.dedupWindow,
    idleAfterMs: lane.partitionBy?.idleAfter ?? Number.MAX_SAFE_INTEGER,
  };
  return { ...config, fingerprint: fingerprintOf(config) };
}

function partitionPolicy({ partitionBy }: LaneFields): LaneConfig['policy']['partitionBy'] {
  if (partitionBy === undefined) return null;
  const names = Object.keys(partitionBy.headers);
  // Where credentials are listed, a partition without one could only call with somebody else's.
  return { field: partitionBy.field, names: names.length === 0 ? null : names };
}

/** Header names count, their values don't: they may be secret, and differ between hosts. */
function fingerprintOf({
  headers,
  secrets: _secrets,
  partitions,
  ...open
}: Omit<LaneConfig, 'fingerprint'>): string {
  const names = Object.entries(partitions).map(([name, own]) => [name, Object.keys(own.headers)]);
  return digest(boundDepth({ ...open, headers: Object.keys(headers), partitions: names })).slice(0, 16);
}
