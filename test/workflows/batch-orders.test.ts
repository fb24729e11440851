import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BatchRefusedError, batchReport, batchStatus, operateBatch, publish } from '../../src/client.ts';
import { batchOf, outcomesOf, untilStarting } from '../support/batches.ts';
import { untilQueued } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { batchEnd } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

const ASKED = { by: 'ada', reason: 'wrong release' };

test('nothing of a paused batch is sent until it is resumed, also of one that was being started', async () => {
  await withLane(stage, 'paused', { open: false }, async ({ config, upstream }) => {
    const published = publish(stage.client, batchOf('paused', 20));
    await untilStarting(stage, 'paused');
    const told = await outcomesOf(operateBatch.pause(stage.client, 'paused', ASKED));
    assert.deepEqual(
      new Set(told.map(({ outcome, state }) => `${outcome} ${state}`)),
      new Set(['done waiting']),
    );
    assert.equal(told.length, 20);
    await published;

    stage.openLane(config);
    // Of another batch in the same lane, and behind it.
    await publish(stage.client, { ...batchOf('beside', 1), lane: 'paused' });
    await batchEnd(stage.client, 'beside');
    assert.deepEqual(
      upstream.effects().map(({ key }) => key),
      ['beside:0'],
    );
    const { held, counts } = await batchStatus(stage.client, 'paused');
    assert.deepEqual([held, counts.open], [ASKED, 20]);

    await outcomesOf(operateBatch.resume(stage.client, 'paused', { by: 'bob', reason: 'right after all' }));
    const end = await batchEnd(stage.client, 'paused');
    assert.deepEqual([end.held, end.counts.succeeded, upstream.effects().length], [null, 20, 21]);
  });
});

test('of a batch that is discarded, what is started ends as discarded, and the rest is rejected with who and why', async () => {
  await withLane(stage, 'dropped', { open: false }, async ({ upstream }) => {
    const batch = batchOf('dropped', 150);
    const items = [...batch.items, batch.items[149], 'broken'];
    const published = publish(stage.client, { ...batch, items });
    await untilStarting(stage, 'dropped');
    await outcomesOf(operateBatch.discard(stage.client, 'dropped', ASKED));
    const { admissions } = await published;

    const { counts, discarded } = await batchEnd(stage.client, 'dropped');
    assert.deepEqual(discarded, ASKED);
    assert.equal(counts.pending + counts.open + counts.dead + counts.succeeded, 0);
    assert.equal(counts.discarded, counts.accepted);
    assert.equal(counts.published, 152);
    const refused = admissions.flatMap((one) => (one.admission === 'rejected' ? [one.reason] : []));
    assert.deepEqual(
      new Set(refused.slice(0, -1)),
      new Set(['discarded before it was started, by ada: wrong release']),
    );
    const { rows, addsUp } = await batchReport(stage.client, 'dropped');
    assert.equal(addsUp, true);
    for (const { state, by, reason } of rows.filter(({ admission }) => admission === 'accepted'))
      assert.deepEqual({ state, by, reason }, { state: 'discarded', ...ASKED });
    assert.equal(upstream.arrivals().length, 0);
  });
});

test('a batch that is discarded before it starts anything rejects all of it', async () => {
  await withLane(stage, 'early', { open: false }, async () => {
    await stage.stopDispatch();
    const batch = batchOf('early', 3);
    await publish(stage.client, batch, { waitMs: 200 });
    const discarding = outcomesOf(operateBatch.discard(stage.client, 'early', ASKED));
    await stage.startDispatch();
    assert.deepEqual(await discarding, []);
    const { counts } = await batchEnd(stage.client, 'early');
    assert.deepEqual([counts.rejected, counts.accepted], [3, 0]);
    // Its keys are free.
    const again = await publish(stage.client, { ...batch, batchId: 'early-2' });
    assert.deepEqual(new Set(again.admissions.map(({ admission }) => admission)), new Set(['accepted']));
  });
});

test('what nobody answers for, or not for a reason, is not done', async () => {
  await withLane(stage, 'named', { open: false }, async () => {
    await publish(stage.client, batchOf('named', 1));
    for (const [asked, says] of [
      [{ by: ' ', reason: 'any' }, /by: expected who does this, got nothing/],
      [{ by: 'ada', reason: '' }, /reason: expected why, got nothing/],
    ] as const)
      for (const act of ['pause', 'resume', 'discard'] as const)
        await assert.rejects(
          outcomesOf(operateBatch[act](stage.client, 'named', asked)),
          (error: unknown) => {
            assert(error instanceof BatchRefusedError);
            assert.match(error.message, says);
            return true;
          },
        );
    await untilQueued(stage, 'named:0');
    assert.equal((await batchStatus(stage.client, 'named')).held, null);
  });
});
