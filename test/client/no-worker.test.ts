import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type BatchStatus,
  type ItemRecord,
  NotFoundError,
  batchStatus,
  itemRecord,
  publish,
} from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { untilQueued } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

test('with no worker running, the status of a batch and the records of its items are the same as with one', async () => {
  const faults: FaultScript = {
    'read:dead': [{ type: 'status', status: 422, body: '{"error":"no such package"}' }],
    'read:throttled': [{ type: 'throttle', retryAfter: '3600' }],
  };
  await withLane(stage, 'read', { upstream: { faults }, open: false }, async ({ config }) => {
    // In this order they leave; the throttled one closes the lane, and the last waits.
    const keys = ['read:done', 'read:dead', 'read:throttled', 'read:waiting'];
    const items: unknown[] = keys.map((key, index) => ({
      key,
      payload: { key },
      priority: index + 1,
      correlationId: `trace-${index}`,
    }));
    items.push(items[0], { key: 'read:done', payload: 'other' }, 'broken', { key: 'read:ended', payload: 1 });
    await publish(stage.client, { batchId: 'read', lane: 'read', publisher: 'ci', items });
    await stage.client.workflow.getHandle('read:ended').terminate('tidying up');
    for (const key of keys) await untilQueued(stage, key);
    stage.openLane(config);
    await until('the lane is closed', () =>
      stage.said.some((line) => line.startsWith('lane read is closed')),
    );

    const status = await statusOnce(({ counts }) => counts.dead + counts.succeeded + counts.terminated === 3);
    const records = await recordsOf([...keys, 'read:ended']);
    assert.deepEqual(status.counts, {
      published: 8,
      accepted: 5,
      duplicate: 1,
      conflict: 1,
      rejected: 1,
      pending: 0,
      succeeded: 1,
      dead: 1,
      uncertain: 0,
      discarded: 0,
      terminated: 1,
      open: 2,
    });
    assert.deepEqual(
      records.map(({ state }) => state),
      ['succeeded', 'dead', 'retrying', 'waiting', 'terminated'],
    );
    assert.equal(status.from, 'workflow');

    await stage.closeLane('read');
    await stage.stopDispatch();
    const asleep = await batchStatus(stage.client, 'read');
    assert.equal(asleep.from, 'history');
    assert.deepEqual(asleep.counts, status.counts);
    assert.deepEqual(
      asleep.admissions.map(({ admission }) => admission),
      status.admissions.map(({ admission }) => admission),
    );
    assert.deepEqual(await recordsOf([...keys, 'read:ended']), records);
    await stage.startDispatch();
  });
});

test('an item record tells whose the item is, where it stands, and on what evidence', async () => {
  await withLane(stage, 'record', {}, async ({ upstream }) => {
    await publish(stage.client, {
      batchId: 'record',
      lane: 'record',
      publisher: 'ci',
      items: ['broken', { key: 'record:a', payload: {}, version: 7, correlationId: 'trace-1' }],
    });
    await until(
      'it has ended',
      async () => (await itemRecord(stage.client, 'record:a')).state === 'succeeded',
    );
    const record = await itemRecord(stage.client, 'record:a');
    const { receipt, evidence, trail, fingerprint, admittedAt, endedAt, attempts, ...plain } = record;
    assert.deepEqual(plain, {
      key: 'record:a',
      state: 'succeeded',
      lane: 'record',
      owner: 'release-engineering',
      partition: null,
      operation: 'release',
      batchId: 'record',
      position: 1,
      publisher: 'ci',
      correlationId: 'trace-1',
      version: 7,
      parkedAt: null,
      round: 0,
      lookups: 0,
      unresolved: false,
      budgetLeft: 5,
      nextEligibleAt: null,
      sender: null,
      held: null,
      reason: null,
      by: null,
      orders: [],
      late: [],
    });
    assert.equal(attempts.succeeded, 1);
    assert.equal(receipt?.upstreamId, upstream.effects()[0]?.id);
    assert.equal(evidence?.ended, '201');
    assert.deepEqual(trail, [evidence]);
    assert.ok(Date.parse(endedAt ?? '') >= Date.parse(admittedAt));
    assert.match(fingerprint, /^[0-9a-f]{64}$/);
    assert.ok(Date.parse(admittedAt) <= Date.now());
  });
});

test('what is unknown, or no item, is not found', async () => {
  await stage.client.workflow.start('payrollRun', { workflowId: 'payroll:7', taskQueue: 'payroll' });
  await assert.rejects(itemRecord(stage.client, 'nobody'), NotFoundError);
  await assert.rejects(itemRecord(stage.client, 'payroll:7'), NotFoundError);
  await assert.rejects(batchStatus(stage.client, 'nothing'), NotFoundError);
});

async function statusOnce(holds: (status: BatchStatus) => boolean): Promise<BatchStatus> {
  await until('the batch is so', async () => holds(await batchStatus(stage.client, 'read')));
  return await batchStatus(stage.client, 'read');
}

function recordsOf(keys: readonly string[]): Promise<ItemRecord[]> {
  return Promise.all(keys.map((key) => itemRecord(stage.client, key)));
}
