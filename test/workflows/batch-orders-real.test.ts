import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type Batch,
  batchReport,
  batchStatus,
  itemRecord,
  operateBatch,
  operateItem,
  publish,
} from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { discardRest } from '../../src/workflows/messages.ts';
import { batchOf, outcomesOf, terminateBatch, untilStarting } from '../support/batches.ts';
import { untilQueued } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { batchEnd, until } from '../support/wait.ts';

// What operators do to a batch, where it takes a server that keeps lists and histories, and can pause an activity.

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

const ASKED = { by: 'ada', reason: 'wrong release' };

test('what was discarded before it was started stays rejected, also when its batch is killed and published again', async () => {
  await withLane(stage, 'stopped', { open: false }, async () => {
    const batch = batchOf('stopped', 150);
    const published = publish(stage.client, batch);
    await untilStarting(stage, 'stopped');
    const handle = stage.client.workflow.getHandle('batch/stopped');
    await handle.executeUpdate(discardRest, { args: [ASKED] });
    const { admissions } = await published;
    const refused = admissions.filter(({ admission }) => admission === 'rejected');
    assert.ok(refused.length > 0 && refused.length < 150, `${refused.length} of 150 were not started`);

    await terminateBatch(stage, 'stopped');
    const asleep = await batchStatus(stage.client, 'stopped');
    assert.deepEqual([asleep.from, asleep.admissions, asleep.discarded], ['history', admissions, ASKED]);
    assert.deepEqual((await publish(stage.client, batch)).admissions, admissions);
    await outcomesOf(operateBatch.discard(stage.client, 'stopped', ASKED));
    const { counts } = await batchEnd(stage.client, 'stopped');
    assert.deepEqual([counts.rejected, counts.discarded], [refused.length, 150 - refused.length]);
  });
});

test('a batch whose workflow is gone is paused, resumed and discarded all the same, and stays paused when published again', async () => {
  await withLane(stage, 'orphans', { open: false }, async ({ config, upstream }) => {
    const batch = batchOf('orphans', 3);
    await publish(stage.client, batch);
    await outcomesOf(operateBatch.pause(stage.client, 'orphans', ASKED));
    await terminateBatch(stage, 'orphans');
    assert.deepEqual((await batchStatus(stage.client, 'orphans')).held, ASKED);
    await publish(stage.client, batch);
    assert.deepEqual((await batchStatus(stage.client, 'orphans')).held, ASKED);
    await terminateBatch(stage, 'orphans');

    stage.openLane(config);
    const resumed = await outcomesOf(operateBatch.resume(stage.client, 'orphans', ASKED));
    assert.deepEqual(
      resumed.map(({ key, outcome }) => `${key} ${outcome}`),
      ['orphans:0 done', 'orphans:1 done', 'orphans:2 done'],
    );
    await until('they are sent', () => upstream.effects().length === 3);
    await until(
      'they have ended',
      async () => (await batchStatus(stage.client, 'orphans')).counts.open === 0,
    );
    assert.deepEqual(await outcomesOf(operateBatch.discard(stage.client, 'orphans', ASKED)), []);
  });
});

test('pages that arrive after their batch was paused or discarded are meant, too', async () => {
  await withLane(stage, 'pages', { open: false }, async ({ config, upstream }) => {
    await publish(stage.client, pageOf(0));
    await outcomesOf(operateBatch.pause(stage.client, 'pages', ASKED));
    await untilListed('pages', 'held');
    await publish(stage.client, pageOf(1));
    assert.deepEqual((await batchStatus(stage.client, 'pages', 1)).held, ASKED);
    assert.deepEqual((await itemRecord(stage.client, 'pages:1')).held, ASKED);

    const resumed = await outcomesOf(operateBatch.resume(stage.client, 'pages', ASKED));
    assert.deepEqual(
      resumed.map(({ page, key, outcome }) => `${page} ${key} ${outcome}`),
      ['0 pages:0 done', '1 pages:1 done'],
    );
    assert.equal((await batchStatus(stage.client, 'pages', 1)).held, null);

    await outcomesOf(operateBatch.discard(stage.client, 'pages', ASKED));
    await untilListed('pages', 'discarded');
    const { admissions } = await publish(stage.client, pageOf(2));
    assert.deepEqual(
      admissions.map(({ admission }) => admission),
      ['rejected'],
    );
    stage.openLane(config);
    const { counts, addsUp } = await batchReport(stage.client, 'pages');
    assert.deepEqual([counts.discarded, counts.rejected, addsUp], [2, 1, true]);
    assert.equal(upstream.arrivals().length, 0);
  });
});

test('an item that is being sent is not discarded, and says so; all that waits is', async () => {
  const faults: FaultScript = { 'sent:0': [{ type: 'delay', ms: 5_000 }] };
  const lane = { delivery: { timeoutMs: 8_000 } };
  await withLane(stage, 'sent', { upstream: { faults }, lane, open: false }, async ({ config, ...scene }) => {
    const batch = batchOf('sent', 4);
    const items = batch.items.map((item, n) => ({ ...item, priority: n + 1 }));
    await publish(stage.client, { ...batch, items });
    for (const { key } of items) await untilQueued(stage, key);
    stage.openLane(config);
    await until('its call is in flight', () => scene.arrivalsOf('sent:0').length === 1);
    const [sent, ...others] = await outcomesOf(operateBatch.discard(stage.client, 'sent', ASKED));
    assert.deepEqual([sent?.outcome, sent?.state], ['refused', 'sending']);
    assert.match(sent?.reason ?? '', /being sent/);
    assert.deepEqual(
      others.map(({ key, outcome, state }) => `${key} ${outcome} ${state}`),
      ['sent:1 done discarded', 'sent:2 done discarded', 'sent:3 done discarded'],
    );
    const { counts } = await batchEnd(stage.client, 'sent');
    assert.deepEqual([counts.succeeded, counts.discarded], [1, 3]);
    assert.equal(scene.upstream.arrivals().length, 1);
  });
});

test('an item that was parked when its batch ended, and is redriven, counts as what it is today', async () => {
  const faults: FaultScript = { 'late:0': [{ type: 'status', status: 422 }] };
  await withLane(stage, 'late', { upstream: { faults } }, async () => {
    await publish(stage.client, batchOf('late', 2));
    const closed = await batchEnd(stage.client, 'late');
    assert.deepEqual([closed.counts.dead, closed.counts.succeeded], [1, 1]);
    await operateItem.redrive(stage.client, 'late:0', { by: 'ada', reason: 'the package is there now' });
    await until(
      'it has succeeded',
      async () => (await batchStatus(stage.client, 'late')).counts.succeeded === 2,
    );
    const report = await batchReport(stage.client, 'late');
    assert.deepEqual(
      report.rows.map(({ state, receipt }) => `${state} ${receipt?.status}`),
      ['succeeded 201', 'succeeded 201'],
    );
    assert.equal(report.addsUp, true);
  });
});

function pageOf(page: number): Batch {
  return { batchId: 'pages', lane: 'pages', page, items: [{ key: `pages:${page}`, payload: page }] };
}

/** Waits until the server's list, which lags, has what was ordered. */
async function untilListed(batchId: string, order: 'held' | 'discarded'): Promise<void> {
  const query = `OnelaneBatch = '${batchId}' AND WorkflowType = 'dispatchBatch'`;
  await until(`${batchId} is listed as ${order}`, async () => {
    for await (const { memo } of stage.client.workflow.list({ query })) if (memo?.[order]) return true;
    return false;
  });
}
