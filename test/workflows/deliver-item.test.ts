import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { itemRecord } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { publishOne, recordOnce, throttledOnce } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { batchEnd, until } from '../support/wait.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Longer than the timers of Node, which would fire at once. */
const BEYOND_TIMERS = 2 ** 31 + DAY;

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

for (const [title, aheadMs] of [
  ['hours', 5 * HOUR],
  ['more than 2^31 milliseconds', BEYOND_TIMERS],
] as const) {
  test(`an item whose notBefore is ${title} ahead is not sent before, and then at once`, async () => {
    const lane = `later-${aheadMs}`;
    await withLane(stage, lane, {}, async ({ arrivalsOf }) => {
      const notBefore = new Date(stage.clock.epochMs() + aheadMs).toISOString();
      const key = await publishOne(stage, lane, { notBefore });
      assert.equal((await itemRecord(stage.client, key)).nextEligibleAt, notBefore);
      await stage.pass(aheadMs - MINUTE);
      assert.equal(arrivalsOf(key).length, 0);
      await stage.pass(2 * MINUTE);
      await until('it is sent', () => arrivalsOf(key).length === 1);
      assert.equal((await batchEnd(stage.client, lane)).counts.succeeded, 1);
    });
  });
}

test('a Retry-After of hours completes with two calls, and nothing of the lane leaves before it has passed', async () => {
  const faults: FaultScript = { 'hours:a': [{ type: 'throttle', retryAfter: '10800' }] };
  await withLane(stage, 'hours', { upstream: { faults } }, async ({ upstream: { arrivals }, arrivalsOf }) => {
    const key = await publishOne(stage, 'hours');
    const closed = await throttledOnce(stage, key);
    assert.match(closed.reason ?? '', /^429 throttled; next try in /);

    await stage.pass(3 * HOUR - MINUTE);
    assert.equal(arrivals().length, 1);
    // Another item that comes now waits for the lane, too. (Sooner, time would stand: see `skipTime`.)
    await publishOne(stage, 'hours', { key: 'hours:b' });
    await recordOnce(
      stage,
      'hours:b',
      ({ state, nextEligibleAt }) => state === 'waiting' && nextEligibleAt !== null,
    );
    assert.equal(arrivals().length, 1);
    await stage.pass(2 * MINUTE);
    await batchEnd(stage.client, 'hours');
    await batchEnd(stage.client, 'hours:b');
    assert.equal(arrivalsOf(key).length, 2);
    assert.equal(arrivalsOf('hours:b').length, 1);
    const { receipt, budgetLeft } = await itemRecord(stage.client, key);
    assert.equal(receipt?.status, 201);
    assert.equal(budgetLeft, 5);
  });
});

test('an item goes on through days of throttling when its deadline is none', async () => {
  const throttled: FaultScript[string] = [{ type: 'throttle', retryAfter: '72000', times: 5 }];
  await withLane(
    stage,
    'patient',
    { upstream: { faults: { 'patient:a': throttled } } },
    async ({ arrivalsOf }) => {
      const key = await publishOne(stage, 'patient');
      for (let times = 1; times <= 5; times++) {
        await throttledOnce(stage, key, times);
        await stage.pass(72_000_000 + MINUTE);
      }
      const { counts } = await batchEnd(stage.client, 'patient');
      assert.equal(counts.succeeded, 1);
      assert.equal(arrivalsOf(key).length, 6);
    },
  );
});

test('what the upstream refuses parks as dead, with its answer as evidence, and is called once', async () => {
  const refusal: FaultScript[string] = [
    { type: 'status', status: 422, body: `{"error":"no such package"}${'.'.repeat(5_000)}` },
  ];
  await withLane(
    stage,
    'refused',
    { upstream: { faults: { 'refused:a': refusal } } },
    async ({ arrivalsOf }) => {
      const key = await publishOne(stage, 'refused');
      const { counts } = await batchEnd(stage.client, 'refused');
      assert.deepEqual([counts.accepted, counts.dead, counts.open], [1, 1, 0]);
      const record = await itemRecord(stage.client, key);
      assert.equal(record.state, 'dead');
      assert.equal(record.reason, '422 refused');
      assert.equal(record.evidence?.ended, '422');
      assert.match(record.evidence.body, /^\{"error":"no such package"\}/);
      assert.equal(record.evidence.body.length, 2048);
      assert.equal(record.nextEligibleAt, null);
      assert.equal(arrivalsOf(key).length, 1);
    },
  );
});

test('every attempt carries the same bytes, key, path and correlation ID', async () => {
  const story: FaultScript[string] = [
    { type: 'status', status: 500, effect: 'none' },
    { type: 'throttle', retryAfter: '1' },
    { type: 'reset' },
    { type: 'lostResponse' },
  ];
  await withLane(
    stage,
    'same',
    { upstream: { faults: { 'same:a': story } } },
    async ({ arrivalsOf, effectsOf }) => {
      const key = await publishOne(stage, 'same', {
        payload: { b: [1, 'ü'], a: null },
        correlationId: 'trace-7',
      });
      await batchEnd(stage.client, 'same');
      const sent = arrivalsOf(key).map(({ method, path, bodySha256, correlationId }) =>
        JSON.stringify([method, path, bodySha256, correlationId]),
      );
      assert.equal(sent.length, 5);
      assert.equal(new Set(sent).size, 1);
      assert.match(sent[0] ?? '', /"trace-7"/);
      assert.equal(effectsOf(key), 1);
      const { receipt, attempts } = await itemRecord(stage.client, key);
      assert.equal(receipt?.replayed, true);
      assert.deepEqual(
        [attempts.succeeded, attempts.throttled, attempts.ambiguous, attempts.unavailable],
        [1, 1, 3, 0],
      );
    },
  );
});

test('cancelling an item that waits for its notBefore, that backs off, or that is parked discards it', async () => {
  const faults: FaultScript = {
    'giveup:b': [{ type: 'status', status: 422 }],
    'giveup:c': [{ type: 'throttle', retryAfter: '3600' }],
  };
  await withLane(stage, 'giveup', { upstream: { faults } }, async () => {
    const waits = await publishOne(stage, 'giveup', {
      notBefore: new Date(stage.clock.epochMs() + DAY).toISOString(),
    });
    const parked = await publishOne(stage, 'giveup', { key: 'giveup:b' });
    await recordOnce(stage, parked, ({ state }) => state === 'dead');
    const backsOff = await publishOne(stage, 'giveup', { key: 'giveup:c' });
    await recordOnce(stage, backsOff, ({ state }) => state === 'retrying');
    for (const key of [waits, parked, backsOff]) {
      await stage.client.workflow.getHandle(key).cancel();
      await recordOnce(stage, key, ({ state }) => state === 'discarded');
    }
    assert.equal((await batchEnd(stage.client, 'giveup')).counts.discarded, 1);
    assert.equal((await batchEnd(stage.client, 'giveup:c')).counts.discarded, 1);
  });
});
