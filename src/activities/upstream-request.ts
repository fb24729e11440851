import { canonicalText } from '../domain/canonical.ts';
import type { CallTask, LookupTask } from '../domain/delivery.ts';
import type { LaneConfig } from '../domain/policy.ts';
import type { UpstreamRequest } from '../lane/upstream-connection.ts';

/** A record may repeat what was sent, which is more than other answers hold. */
const LOOKUP_BODY_BYTES = 1024 * 1024;

/** Asks to do an item's work: the same bytes under the same key on every attempt. */
export function sendRequest(task: CallTask, config: LaneConfig): UpstreamRequest {
  const { method, path, payload, key, policy } = task;
  return {
    method,
    path,
    timeoutMs: timeoutOf(config),
    body: canonicalText(payload),
    headers: {
      ...commonHeaders(task, config),
      'Content-Type': 'application/json',
      ...(policy.idempotency === null ? {} : { [policy.idempotency.header]: key }),
    },
  };
}

/** Asks whether it was done. No operation of a lane is a GET, so whoever reads a log can tell. */
export function lookupRequest(task: LookupTask, config: LaneConfig): UpstreamRequest {
  return {
    method: 'GET',
    path: task.path,
    timeoutMs: timeoutOf(config),
    body: '',
    headers: { ...commonHeaders(task, config), Accept: 'application/json' },
    readAtMost: LOOKUP_BODY_BYTES,
  };
}

/** The lane's, whatever the item was admitted under: the lease is cut to it. */
function timeoutOf({ policy }: LaneConfig): number {
  return policy.delivery.timeoutMs;
}

function commonHeaders({ correlationId }: Pick<CallTask, 'correlationId'>, { headers }: LaneConfig) {
  return { ...headers, ...(correlationId === null ? {} : { 'X-Correlation-ID': correlationId }) };
}
