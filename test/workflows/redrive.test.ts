import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { operateItem } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { publishOne, recordOnce, throttledOnce } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';

const HOUR = 3_600_000;
const ADA = { by: 'ada', reason: 'the upstream was mended' };

let stage: Stage;
// Each test its own: once an item was redriven, this server skips no time any more.
beforeEach(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
afterEach(() => stage.close());

test('what may have been done, where the upstream takes no keys, is redriven only by who accepts the risk', async () => {
  const faults: FaultScript = { 'risky:a': [{ type: 'hang', effect: 'committed' }] };
  const options = {
    upstream: { mode: 'neither' as const, faults },
    lane: { delivery: { idempotency: null } },
  };
  await withLane(stage, 'risky', options, async ({ upstream }) => {
    const key = await publishOne(stage, 'risky', { correlationId: 'risky:a' });
    await recordOnce(stage, key, ({ state }) => state === 'uncertain');
    await assert.rejects(
      operateItem.redrive(stage.client, key, ADA),
      /takes no idempotency keys.*--accept-risk/,
    );
    assert.equal(upstream.stats().effects, 1);
    await operateItem.redrive(stage.client, key, { ...ADA, acceptRisk: true });
    // Whether it is sent is the attempt's to decide; that it was accepted, and by whom, is kept here.
    const { orders } = await recordOnce(
      stage,
      key,
      ({ state }) => state === 'uncertain' || state === 'succeeded',
    );
    const [order] = orders;
    assert.deepEqual(
      [order?.kind, order?.by, order?.kind === 'redrive' && order.acceptRisk],
      ['redrive', 'ada', true],
    );
  });
});

test('once the key window of the upstream has passed, a redrive of what may have been done needs the risk accepted', async () => {
  const story: FaultScript[string] = [{ type: 'reset' }, { type: 'status', status: 422 }];
  const lane = { delivery: { idempotency: { header: 'Idempotency-Key', windowMs: HOUR } } };
  await withLane(
    stage,
    'late',
    { upstream: { faults: { 'late:a': story, 'late:b': story } }, lane },
    async () => {
      const late = await publishOne(stage, 'late', { key: 'late:b' });
      await recordOnce(stage, late, ({ state }) => state === 'uncertain');
      await stage.pass(2 * HOUR);
      await assert.rejects(operateItem.redrive(stage.client, late, ADA), /may have forgotten its key/);
      const soon = await publishOne(stage, 'late');
      await recordOnce(stage, soon, ({ state }) => state === 'uncertain');
      await operateItem.redrive(stage.client, soon, ADA);
      await recordOnce(stage, soon, ({ state }) => state === 'succeeded');
    },
  );
});

test('a redrive starts a new deadline', async () => {
  const faults: FaultScript = { 'fresh:a': [{ type: 'throttle', retryAfter: '7200', times: 2 }] };
  const lane = { delivery: { deadlineMs: HOUR } };
  await withLane(stage, 'fresh', { upstream: { faults }, lane }, async ({ arrivalsOf }) => {
    const key = await publishOne(stage, 'fresh');
    await throttledOnce(stage, key);
    await stage.pass(3 * HOUR);
    const parked = await recordOnce(stage, key, ({ state }) => state === 'dead');
    assert.match(parked.reason ?? '', /^its deadline, .*, passed$/);
    await operateItem.redrive(stage.client, key, ADA);
    await recordOnce(stage, key, ({ attempts }) => attempts.throttled === 2);
    assert.equal(arrivalsOf(key).length, 2, 'it was sent again, long after its first deadline');
  });
});
