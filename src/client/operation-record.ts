import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { Rest } from '../domain/export-mark.ts';
import { ONELANE_PARKED_AT } from '../workflows/visibility.ts';
import { type ItemRecord, readItem } from './item-record.ts';
import { describeOrUndefined } from './key-holder.ts';

/** What is exported of an item: whose it was, and what became of it. */
export interface OperationRecord extends Pick<
  ItemRecord,
  | 'key'
  | 'lane'
  | 'partition'
  | 'batchId'
  | 'position'
  | 'publisher'
  | 'fingerprint'
  | 'version'
  | 'state'
  | 'round'
  | 'attempts'
  | 'receipt'
  | 'reason'
  | 'by'
  | 'admittedAt'
  | 'endedAt'
> {
  /** when it ended or parked, by the server's clock; null while it does neither */
  readonly restedAt: string | null;
}

/**
 * The record of an item at the rest that a list told of. Undefined where it rests no more, or otherwise: then it
 * will be told of when it has come to rest again.
 */
export async function recordAtRest(client: Client, rest: Rest): Promise<OperationRecord | undefined> {
  const description = await describeOrUndefined(client, rest.key);
  if (description === undefined || !isStillAt(rest, description)) return undefined;
  return await recordOf(client, description, rest.atMs);
}

/** The record of an item that is on its way. Undefined where it has come to rest meanwhile. */
export async function recordUnderWay(client: Client, key: string): Promise<OperationRecord | undefined> {
  const description = await describeOrUndefined(client, key);
  if (description === undefined || description.closeTime || parkedAtOf(description)) return undefined;
  return await recordOf(client, description, null);
}

/** A run that was reset is followed by another one, which tells of the item. */
function isStillAt(rest: Rest, description: WorkflowExecutionDescription): boolean {
  if (description.runId !== rest.runId) return false;
  // Once ended, a run stays as it is; parked, it may have been parked anew.
  return rest.kind === 'ended' || parkedAtOf(description)?.getTime() === rest.atMs;
}

function parkedAtOf({ closeTime, typedSearchAttributes }: WorkflowExecutionDescription): Date | undefined {
  return closeTime ? undefined : typedSearchAttributes.get(ONELANE_PARKED_AT);
}

async function recordOf(
  client: Client,
  description: WorkflowExecutionDescription,
  restedMs: number | null,
): Promise<OperationRecord> {
  const { record } = await readItem(client, description);
  return {
    key: record.key,
    lane: record.lane,
    partition: record.partition,
    batchId: record.batchId,
    position: record.position,
    publisher: record.publisher,
    fingerprint: record.fingerprint,
    version: record.version,
    state: record.state,
    round: record.round,
    attempts: record.attempts,
    receipt: record.receipt,
    reason: record.reason,
    by: record.by,
    admittedAt: record.admittedAt,
    restedAt: restedMs === null ? null : new Date(restedMs).toISOString(),
    endedAt: record.endedAt,
  };
}
