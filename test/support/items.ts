import assert from 'node:assert/strict';
import { type ItemRecord, type PublishedItem, itemRecord, publish } from '../../src/client.ts';
import { type PendingActivity, pendingActivityOf } from '../../src/client/pending-activity.ts';
import { isParked } from '../../src/domain/item.ts';
import type { Stage } from './stage.ts';
import { eventually, until } from './wait.ts';

/** Publishes a batch of one item, named like its lane unless the item has a key of its own; returns the key. */
export async function publishOne(
  { client }: Stage,
  lane: string,
  item: Partial<PublishedItem> = {},
): Promise<string> {
  const key = item.key ?? `${lane}:a`;
  const batch = { batchId: item.key ?? lane, lane, items: [{ payload: { lane }, ...item, key }] };
  const { admissions } = await publish(client, batch);
  assert.deepEqual(admissions, [{ position: 0, key, admission: 'accepted' }]);
  return key;
}

/** Waits until an item's record is as described. */
export async function recordOnce(
  { client }: Stage,
  key: string,
  holds: (record: ItemRecord) => boolean,
): Promise<ItemRecord> {
  return await eventually(`the record of ${key}`, async () => {
    const record = await itemRecord(client, key);
    return holds(record) ? record : undefined;
  });
}

/**
 * Waits until no call of an item is under way, its end included. Only then may a test let time pass: while an answer is
 * still being told, the closure that it asks for would begin after that. The time-skipping server calls an activity
 * started that only backs off, but counts its next attempt by then.
 */
export async function atRest(stage: Stage, key: string): Promise<ItemRecord> {
  return await eventually(`${key} is at rest`, async () => {
    const record = await itemRecord(stage.client, key);
    if (isParked(record.state)) return record;
    const pending = await pendingOf(stage, key);
    const newest = record.evidence?.attempt ?? Infinity;
    return pending !== undefined && pending.attempt > newest ? record : undefined;
  });
}

/** Waits until an item was throttled so often, and backs off. */
export async function throttledOnce(stage: Stage, key: string, times = 1): Promise<ItemRecord> {
  await recordOnce(stage, key, ({ attempts }) => attempts.throttled >= times);
  return await atRest(stage, key);
}

/** What the server knows of an item's call. */
export async function pendingOf({ client }: Stage, key: string): Promise<PendingActivity | undefined> {
  return pendingActivityOf(await client.workflow.getHandle(key).describe(), 'callUpstream');
}

/** Waits until an item's call is in its lane's queue, or further. */
export async function untilQueued(stage: Stage, key: string): Promise<void> {
  await until(`${key} waits in the queue`, async () => (await pendingOf(stage, key)) !== undefined);
}
