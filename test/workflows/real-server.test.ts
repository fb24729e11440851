import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type Batch,
  BatchIdTakenError,
  BatchRefusedError,
  batchStatus,
  itemRecord,
  publish,
} from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { terminateBatch } from '../support/batches.ts';
import { untilQueued } from '../support/items.ts';
import { laneConfig } from '../support/lane.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { batchEnd, until } from '../support/wait.ts';

// What the time-skipping server can't do: it keeps no list, tells no parent that its child was terminated, knows no
// priorities, and never ends a failed attempt whose cancellation was asked for.

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

test('a terminated batch published again gives the same admissions and follows its items to their ends', async () => {
  const faults: FaultScript = { 'killed:c': [{ type: 'status', status: 422 }] };
  await withLane(stage, 'killed', { upstream: { faults }, open: false }, async ({ config, upstream }) => {
    const batch: Batch = {
      batchId: 'killed',
      lane: 'killed',
      items: [
        { key: 'killed:a', payload: 1 },
        { key: 'killed:a', payload: 1 },
        { key: 'killed:b', payload: 2 },
        { key: 'killed:b', payload: 'other' },
        { key: 'killed:c', payload: 3 },
        { key: 'killed:d', payload: 4 },
        'broken',
      ],
    };
    const first = await publish(stage.client, batch);
    assert.deepEqual(
      first.admissions.map(({ admission }) => admission),
      ['accepted', 'duplicate', 'accepted', 'conflict', 'accepted', 'accepted', 'rejected'],
    );
    await stage.client.workflow.getHandle('killed:d').terminate('an item ended from outside');
    await terminateBatch(stage, 'killed');

    await assert.rejects(publish(stage.client, { ...batch, items: batch.items.slice(1) }), BatchIdTakenError);
    assert.deepEqual(await publish(stage.client, batch), first);
    assert.equal((await batchStatus(stage.client, 'killed')).workflow, 'RUNNING');
    stage.openLane(config);
    const { states, counts } = await batchEnd(stage.client, 'killed');
    assert.deepEqual(states, {
      'killed:a': 'succeeded',
      'killed:b': 'succeeded',
      'killed:c': 'dead',
      'killed:d': 'terminated',
    });
    assert.deepEqual([counts.published, counts.accepted], [7, 4]);
    assert.deepEqual([counts.succeeded, counts.dead, counts.terminated, counts.open], [2, 1, 1, 0]);
    assert.deepEqual(await publish(stage.client, batch), first);
    assert.equal(upstream.stats().effects, 2);
  });
});

test('a terminated batch is refused while its lane derives other keys than at first', async () => {
  const batch: Batch = { batchId: 'rekeyed', lane: 'rekeyed', items: [{ payload: { name: 'a' } }] };
  deriveKeysBy('rekeyed:{payload.name}');
  const first = await publish(stage.client, batch);
  await terminateBatch(stage, 'rekeyed');

  deriveKeysBy('rekeyed:{payload.name}:v2');
  await assert.rejects(publish(stage.client, batch), (error: unknown) => {
    assert(error instanceof BatchRefusedError);
    assert.match(error.message, /^key template: lane "rekeyed" derives other keys now/);
    return true;
  });
  deriveKeysBy('rekeyed:{payload.name}');
  assert.deepEqual(await publish(stage.client, batch), first);
});

function deriveKeysBy(keyTemplate: string): void {
  stage.lanes.set('rekeyed', laneConfig('rekeyed', 'http://127.0.0.1:9', { policy: { keyTemplate } }));
}

test('a batch refused for its unknown lane is dispatched when it is published again once the lane exists', async () => {
  const batch: Batch = { batchId: 'early', lane: 'early', items: [{ key: 'early:a', payload: {} }] };
  await assert.rejects(publish(stage.client, batch), BatchRefusedError);
  await assert.rejects(publish(stage.client, batch), BatchRefusedError);
  stage.lanes.set('early', laneConfig('early', 'http://127.0.0.1:9'));
  const { admissions } = await publish(stage.client, batch);
  assert.deepEqual(admissions, [{ position: 0, key: 'early:a', admission: 'accepted' }]);
});

test('a batchId may hold an apostrophe; what Temporal cannot look for is refused', async () => {
  stage.lanes.set('quoted', laneConfig('quoted', 'http://127.0.0.1:9'));
  const batch: Batch = { batchId: "it's", lane: 'quoted', items: [{ key: 'quoted:a', payload: {} }] };
  await publish(stage.client, batch);
  await terminateBatch(stage, "it's");
  await assert.rejects(publish(stage.client, { ...batch, items: ['other'] }), BatchIdTakenError);
  for (const batchId of ['end\\', 'say "x"'])
    await assert.rejects(publish(stage.client, { ...batch, batchId }), BatchRefusedError);
});

test('an item that is terminated counts as terminated, and its batch ends', async () => {
  await withLane(stage, 'ended', { open: false }, async () => {
    const batch: Batch = { batchId: 'ended', lane: 'ended', items: [{ key: 'ended:a', payload: {} }] };
    await publish(stage.client, batch);
    await stage.client.workflow.getHandle('ended:a').terminate('tidying up');
    const { counts } = await batchEnd(stage.client, 'ended');
    assert.deepEqual([counts.accepted, counts.terminated, counts.open], [1, 1, 0]);
    const again = await publish(stage.client, { ...batch, batchId: 'ended-2' });
    assert.deepEqual(again.admissions, [
      { position: 0, key: 'ended:a', admission: 'duplicate', state: 'terminated', batch: 'batch/ended' },
    ]);
  });
});

test('cancelling an item whose call is in flight discards it when the call fails', async () => {
  const faults: FaultScript = { 'crash:a': [{ type: 'hang', effect: 'none' }] };
  await withLane(stage, 'crash', { upstream: { faults } }, async ({ arrivalsOf }) => {
    await publish(stage.client, {
      batchId: 'crash',
      lane: 'crash',
      items: [{ key: 'crash:a', payload: {} }],
    });
    await until('its call is in flight', () => arrivalsOf('crash:a').length === 1);
    await stage.client.workflow.getHandle('crash:a').cancel();
    const { counts } = await batchEnd(stage.client, 'crash');
    assert.deepEqual([counts.discarded, counts.terminated], [1, 0]);
    assert.equal((await itemRecord(stage.client, 'crash:a')).state, 'discarded');
    assert.equal(arrivalsOf('crash:a').length, 1);
  });
});

test('of items that wait for their lane, the most urgent leave first', async () => {
  await withLane(stage, 'urgent', { open: false }, async ({ config, upstream }) => {
    const priorities = [5, 3, 1, 4, 2];
    const items = priorities.map((priority) => ({ key: `urgent:${priority}`, payload: {}, priority }));
    await publish(stage.client, { batchId: 'urgent', lane: 'urgent', items });
    for (const { key } of items) await untilQueued(stage, key);
    stage.openLane(config);
    await batchEnd(stage.client, 'urgent');
    assert.deepEqual(
      upstream.arrivals().map(({ key }) => key),
      ['urgent:1', 'urgent:2', 'urgent:3', 'urgent:4', 'urgent:5'],
    );
  });
});
