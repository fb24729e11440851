import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { LaneRefusedError, operateLane } from '../../src/client.ts';
import { laneWorkflowId } from '../../src/domain/ids.ts';
import * as messages from '../../src/workflows/lane-messages.ts';
import { withFleet } from '../support/fleet.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { eventually, until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startLaneDesk();
});
after(() => stage.close());

const OPS = { by: 'ada', reason: 'the upstream asked' };

test('a pause is answered when the holder has it and its call in flight has ended, and outlives every holder', async () => {
  await withFleet(stage, 'pause', async ({ name, standBy, record }) => {
    const a = await standBy('a');
    const hold = await a.holdOf(1);
    await hold.keep();
    const inFlight = new AbortController();
    a.onChange = async () => void (await once(inFlight.signal, 'abort'));
    let answered = false;
    const pausing = operateLane.pause(stage.client, name, OPS).then((paused) => {
      answered = true;
      return paused;
    });
    await until('the holder is told', () => a.changes.length === 1);
    assert.equal(a.changes[0]?.view.pausedBecause, 'the upstream asked (by ada)');
    assert.equal(answered, false);
    inFlight.abort();
    const { paused } = await pausing;
    assert.equal(paused?.by, 'ada');
    assert.equal(paused.reason, 'the upstream asked');

    a.onChange = () => Promise.resolve();
    const again = await operateLane.pause(stage.client, name, { by: 'bob', reason: 'another' });
    assert.deepEqual(again.paused, paused);
    await hold.giveBack();
    const { order } = await a.holdOf(2);
    assert.equal(order.view.pausedBecause, 'the upstream asked (by ada)');
    await (await a.holdOf(2)).keep();

    const resumed = await operateLane.resume(stage.client, name, OPS);
    assert.equal(resumed.paused, null);
    const told = a.changes.at(-1);
    assert.equal(told?.epoch, 2);
    assert.equal(told.view.pausedBecause, null);
    assert(told.view.resumed > order.view.resumed);
    const { version } = await record();
    await operateLane.resume(stage.client, name, OPS);
    assert.equal((await record()).version, version);
  });
});

test('a lane that paused itself says so; a late repetition does not pause it again once it was resumed', async () => {
  await withFleet(stage, 'itself', async ({ name, standBy, record }) => {
    const a = await standBy('a');
    await (await a.holdOf(1)).keep();
    const handle = stage.client.workflow.getHandle(laneWorkflowId(name));
    await handle.signal(messages.pausedItself, { epoch: 1, reason: '401', resumed: 0 });
    await until('it is paused', async () => (await record()).paused?.by === 'onelane');
    await operateLane.resume(stage.client, name, OPS);
    await handle.signal(messages.pausedItself, { epoch: 1, reason: '401', resumed: 0 });
    assert.equal((await record()).paused, null);
    await handle.signal(messages.pausedItself, { epoch: 1, reason: '401 again', resumed: 1 });
    assert.equal((await record()).paused?.reason, '401 again');
  });
});

test('a self-pause that arrives only after its holder was lost is told to the next one', async () => {
  await withFleet(stage, 'lateself', async ({ name, standBy }) => {
    const a = await standBy('a');
    await (await a.holdOf(1)).giveBack();
    await (await a.holdOf(2)).keep();
    const handle = stage.client.workflow.getHandle(laneWorkflowId(name));
    await handle.signal(messages.pausedItself, { epoch: 1, reason: '401', resumed: 0 });
    const { view } = await eventually('the change', () => Promise.resolve(a.changes[0]));
    assert.equal(view.pausedBecause, '401 (by onelane)');
  });
});

test('an override reaches the holder, outlives it, keeps its history, and is cleared', async () => {
  await withFleet(stage, 'override', async ({ name, standBy }) => {
    const a = await standBy('a');
    const hold = await a.holdOf(1);
    await hold.keep();
    await operateLane.override(stage.client, name, { ...OPS, requests: 5, maxInFlight: null });
    assert.equal(a.changes.at(-1)?.view.requests, 5);
    const twice = await operateLane.override(stage.client, name, { ...OPS, requests: 5, maxInFlight: null });
    assert.equal(twice.overrides.length, 1, 'the same override twice changes nothing');
    await operateLane.override(stage.client, name, {
      by: 'bob',
      reason: 'less',
      requests: 4,
      maxInFlight: 2,
    });
    await hold.giveBack();
    const next = await a.holdOf(2);
    assert.deepEqual([next.order.view.requests, next.order.view.maxInFlight], [4, 2]);
    await next.keep();
    const cleared = await operateLane.clearOverride(stage.client, name, OPS);
    assert.equal(cleared.override, null);
    assert.deepEqual(
      cleared.overrides.map(({ by, requests }) => [by, requests]),
      [
        ['ada', 5],
        ['bob', 4],
        ['ada', null],
      ],
    );
    assert.equal(a.changes.at(-1)?.view.requests, null);
    const again = await operateLane.clearOverride(stage.client, name, OPS);
    assert.equal(again.overrides.length, 3);
  });
});

test('what an operator asks is refused with the field, what was expected and what came, and changes nothing', async () => {
  await withFleet(stage, 'refused', async ({ name, standBy, record }) => {
    await (await (await standBy('a')).holdOf(1)).keep();
    const untouched = await record();
    const override = (asked: Partial<messages.OverrideAsked>) =>
      operateLane.override(stage.client, name, { ...OPS, requests: 5, maxInFlight: null, ...asked });
    for (const [act, message] of [
      [() => override({ requests: 0 }), /requests: expected a whole number from 1 to 10000, got 0/],
      [() => override({ requests: -1 }), /requests: expected .* got -1/],
      [() => override({ requests: 1.5 }), /requests: expected .* got 1.5/],
      [() => override({ requests: 10_001 }), /requests: expected .* got 10001/],
      [() => override({ maxInFlight: 101 }), /maxInFlight: expected a whole number from 1 to 100, got 101/],
      [() => override({ maxInFlight: 6 }), /maxInFlight: expected at most requests \(5\), got 6/],
      [
        () => override({ requests: null, maxInFlight: 11 }),
        /maxInFlight: expected at most requests \(10\), got 11/,
      ],
      [() => override({ requests: null }), /expected requests, maxInFlight or both/],
      [() => override({ by: ' ' }), /by: expected who does this, got nothing/],
      [() => override({ reason: '' }), /reason: expected why, got nothing/],
      [() => operateLane.pause(stage.client, name, { by: '', reason: 'x' }), /by: expected/],
      [() => operateLane.resume(stage.client, name, { by: 'ada', reason: '' }), /reason: expected/],
      [() => operateLane.clearOverride(stage.client, name, { by: '', reason: 'x' }), /by: expected/],
      [() => operateLane.drain(stage.client, name, { by: 'ada', reason: ' ' }), /reason: expected/],
    ] as [() => Promise<unknown>, RegExp][])
      await assert.rejects(act, (error) => {
        assert(error instanceof LaneRefusedError, String(error));
        assert.match(error.message, message);
        return true;
      });
    assert.deepEqual(await record(), untouched);
  });
});

test('what cannot be told to the holder is answered when that is no longer the holder', async () => {
  await withFleet(stage, 'unreachable', async ({ name, standBy, record }) => {
    const a = await standBy('a');
    const hold = await a.holdOf(1);
    await hold.keep();
    await a.standDown();
    a.onChange = () => Promise.reject(new Error('cut off'));
    let answered = false;
    const pausing = operateLane.pause(stage.client, name, OPS).then(() => (answered = true));
    await until('it was tried more than once', () => a.changes.length >= 2);
    assert.equal(answered, false);
    hold.die();
    await pausing;
    assert.notEqual((await record()).holder?.epoch, 1);
  });
});
