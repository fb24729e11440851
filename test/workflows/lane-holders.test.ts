import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SENT, WINDOW, withFleet } from '../support/fleet.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { eventually, until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startLaneDesk();
});
after(() => stage.close());

test('who answers is given the lane; a lane of which nothing is known begins with an empty window', async () => {
  await withFleet(stage, 'first', async ({ standBy, record }) => {
    const a = await standBy('a');
    const { order } = await a.holdOf(1);
    assert.deepEqual(order.last, { kind: 'none' });
    assert.equal(order.leaseMs, 1_500);
    assert.equal(order.view.pausedBecause, null);
    const { holder, epoch } = await record();
    assert.equal(holder?.process, 'first-a');
    assert.equal(epoch, 1);
  });
});

test('a holder that gives its lane back hands on window, closure, backoff and tallies', async () => {
  await withFleet(stage, 'handover', async ({ standBy, record }) => {
    const a = await standBy('a');
    const hold = await a.holdOf(1);
    await hold.keep();
    await a.standDown();
    const b = await standBy('b');
    await hold.giveBack({
      ...SENT,
      closedForMs: 60_000,
      closedBecause: '429',
      probing: true,
      backoffMs: 4_000,
    });
    const { order } = await b.holdOf(2);
    assert.deepEqual(order.last, { kind: 'handedOver', window: WINDOW });
    assert(order.view.closedForMs > 50_000 && order.view.closedForMs <= 60_000);
    assert.equal(order.view.closedBecause, '429');
    assert.equal(order.view.probing, true);
    assert.equal(order.view.backoffMs, 4_000);
    const { tallies, handovers, takeovers } = await record();
    assert.deepEqual([tallies.succeeded, tallies.throttled], [3, 1]);
    assert.deepEqual([handovers, takeovers], [1, 0]);
  });
});

test('of a holder that goes unheard for a lease the next one gets what it said last, and probes', async () => {
  await withFleet(stage, 'lost', async ({ standBy, record }) => {
    const a = await standBy('a');
    const hold = await a.holdOf(1);
    await hold.keep();
    await hold.keep(SENT);
    await a.standDown();
    const b = await standBy('b');
    hold.die();
    const { order } = await b.holdOf(2);
    assert.deepEqual(order.last, { kind: 'lost', window: WINDOW, leaseMs: 1_500 });
    assert.equal(order.view.probing, true);
    const { tallies, handovers, takeovers, holder } = await record();
    assert.equal(tallies.succeeded, 3);
    assert.deepEqual([handovers, takeovers], [0, 1]);
    assert.equal(holder?.process, 'lost-b');
  });
});

test('when a claimant never takes up the lane, what was known before stands', async () => {
  await withFleet(stage, 'gone', async ({ standBy, record }) => {
    const a = await standBy('a');
    const hold = await a.holdOf(1);
    await a.standDown();
    const gone = await standBy('gone', {}, false);
    await hold.giveBack(SENT);
    await until('the one that is gone has claimed the lane', async () => (await record()).epoch >= 2);
    await gone.standDown();
    const b = await standBy('b');
    const { epoch } = await eventually('b holds the lane', async () => {
      const now = await record();
      return now.holder?.process === 'gone-b' ? now : undefined;
    });
    const { order } = await b.holdOf(epoch);
    assert.deepEqual(order.last, { kind: 'handedOver', window: WINDOW });
    const { handovers, takeovers } = await record();
    assert.deepEqual([handovers, takeovers], [1, 0]);
  });
});

test('a holder that dies before its first beat made no call: what was known before stands', async () => {
  await withFleet(stage, 'silent', async ({ standBy, record }) => {
    const a = await standBy('a');
    await (await a.holdOf(1)).giveBack(SENT);
    await a.holdOf(2);
    const { order } = await a.holdOf(3);
    assert.deepEqual(order.last, { kind: 'handedOver', window: WINDOW });
    assert.equal((await record()).takeovers, 0);
  });
});

test('a lost holder whose words cannot be read may have called as it liked', async () => {
  await withFleet(stage, 'garbled', async ({ standBy }) => {
    const a = await standBy('a');
    const hold = await a.holdOf(1);
    await hold.keep({ window: 'of another version' });
    hold.die();
    const { order } = await a.holdOf(2);
    assert.deepEqual(order.last, { kind: 'unknown' });
    assert.equal(order.view.probing, true);
  });
});

test('a closure is only ever extended, and outlives the holder that learned of it', async () => {
  await withFleet(stage, 'closed', async ({ standBy, record, signalClosed }) => {
    const a = await standBy('a');
    const hold = await a.holdOf(1);
    await hold.keep();
    await signalClosed({ forMs: 60_000, because: 'a minute' });
    await signalClosed({ forMs: 1_000, because: 'a second' });
    hold.die();
    const { order } = await a.holdOf(2);
    assert(order.view.closedForMs > 50_000, `${order.view.closedForMs}`);
    assert.equal(order.view.closedBecause, 'a minute');
    assert.equal((await record()).closedBecause, 'a minute');
  });
});

test('a closure that arrives only after its holder was lost is told to the next one', async () => {
  await withFleet(stage, 'late', async ({ standBy, signalClosed }) => {
    const a = await standBy('a');
    const hold = await a.holdOf(1);
    await hold.giveBack();
    await (await a.holdOf(2)).keep();
    await signalClosed({ epoch: 1, forMs: 60_000 });
    const { view } = await eventually('the change', () => Promise.resolve(a.changes[0]));
    assert(view.closedForMs > 50_000);
  });
});
