import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { itemRecord } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { publishOne, throttledOnce } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { batchEnd } from '../support/wait.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

test('a timeout with unknown completion is repeated under its key, and succeeds as replayed', async () => {
  const story: FaultScript[string] = [{ type: 'hang', effect: 'committed' }];
  await withLane(stage, 'unknown', { upstream: { faults: { 'unknown:a': story } } }, async (scene) => {
    const key = await publishOne(stage, 'unknown');
    await batchEnd(stage.client, 'unknown');
    assert.equal(scene.arrivalsOf(key).length, 2);
    assert.equal(scene.effectsOf(key), 1);
    const { state, receipt, budgetLeft } = await itemRecord(stage.client, key);
    assert.equal(state, 'succeeded');
    assert.deepEqual([receipt?.replayed, receipt?.attempt], [true, 2]);
    assert.equal(budgetLeft, 4);
  });
});

test('a timeout at an upstream that takes no keys parks as uncertain at once, and is never called again', async () => {
  const faults: FaultScript = { 'keyless:a': [{ type: 'hang', effect: 'committed' }] };
  const options = {
    upstream: { mode: 'neither' as const, faults },
    lane: { delivery: { idempotency: null } },
  };
  await withLane(stage, 'keyless', options, async (scene) => {
    const key = await publishOne(stage, 'keyless', { correlationId: 'keyless:a' });
    const { counts } = await batchEnd(stage.client, 'keyless');
    assert.deepEqual([counts.uncertain, counts.open], [1, 0]);
    await stage.pass(DAY);
    assert.equal(scene.arrivalsOf(key).length, 1);
    assert.equal(scene.effectsOf(key), 1);
    const { state, reason } = await itemRecord(stage.client, key);
    assert.equal(state, 'uncertain');
    assert.match(reason ?? '', /^TIMEOUT ambiguous: the upstream takes no idempotency keys/);
  });
});

test('a spent budget parks as dead when nothing can have been applied', async () => {
  const story: FaultScript[string] = [{ type: 'status', status: 503, times: 'always' }];
  await withLane(stage, 'spent', { upstream: { faults: { 'spent:a': story } } }, async ({ arrivalsOf }) => {
    const key = await publishOne(stage, 'spent');
    const { counts } = await batchEnd(stage.client, 'spent');
    assert.equal(counts.dead, 1);
    assert.equal(arrivalsOf(key).length, 5);
    const { reason, budgetLeft } = await itemRecord(stage.client, key);
    assert.equal(reason, '503 unavailable: its budget of 5 is spent');
    assert.equal(budgetLeft, 0);
  });
});

test('a spent budget parks as uncertain when any attempt may have been applied, also when the last was refused', async () => {
  const faults: FaultScript = {
    'maybe:a': [{ type: 'reset' }, { type: 'status', status: 503, times: 'always' }],
    'maybe:b': [{ type: 'reset' }, { type: 'status', status: 422, times: 'always' }],
  };
  await withLane(stage, 'maybe', { upstream: { faults } }, async () => {
    const spent = await publishOne(stage, 'maybe');
    const refused = await publishOne(stage, 'maybe', { key: 'maybe:b' });
    assert.equal((await batchEnd(stage.client, 'maybe')).counts.uncertain, 1);
    assert.equal((await batchEnd(stage.client, 'maybe:b')).counts.uncertain, 1);
    assert.equal((await itemRecord(stage.client, spent)).state, 'uncertain');
    assert.match(
      (await itemRecord(stage.client, refused)).reason ?? '',
      /^422 refused; an earlier attempt may/,
    );
  });
});

test('a deadline that passes in an outage parks as dead, and is counted from notBefore', async () => {
  const story: FaultScript[string] = [{ type: 'throttle', status: 503, retryAfter: '5400', times: 'always' }];
  const lane = { delivery: { deadlineMs: HOUR } };
  await withLane(
    stage,
    'outage',
    { upstream: { faults: { 'outage:a': story } }, lane },
    async ({ arrivalsOf }) => {
      const notBefore = new Date(stage.clock.epochMs() + 2 * HOUR).toISOString();
      const key = await publishOne(stage, 'outage', { notBefore });
      await stage.pass(2 * HOUR + MINUTE);
      await throttledOnce(stage, key);
      await stage.pass(2 * HOUR);
      const { counts } = await batchEnd(stage.client, 'outage');
      assert.equal(counts.dead, 1);
      assert.equal(arrivalsOf(key).length, 1);
      const { reason } = await itemRecord(stage.client, key);
      const deadline = new Date(Date.parse(notBefore) + HOUR).toISOString();
      assert.equal(reason, `its deadline, ${deadline}, passed`);
    },
  );
});

test('a deadline that passes after an unresolved ambiguous attempt parks as uncertain', async () => {
  const story: FaultScript[string] = [{ type: 'reset' }, { type: 'throttle', retryAfter: '7200' }];
  const lane = { delivery: { deadlineMs: HOUR } };
  await withLane(stage, 'late', { upstream: { faults: { 'late:a': story } }, lane }, async () => {
    const key = await publishOne(stage, 'late');
    await throttledOnce(stage, key);
    await stage.pass(3 * HOUR);
    assert.equal((await batchEnd(stage.client, 'late')).counts.uncertain, 1);
    assert.match(
      (await itemRecord(stage.client, key)).reason ?? '',
      /^its deadline, .*, passed; an earlier attempt may have been applied$/,
    );
  });
});

test('an ambiguous attempt is not repeated once the key window of the upstream has passed', async () => {
  const story: FaultScript[string] = [{ type: 'reset' }, { type: 'throttle', retryAfter: '7200' }];
  const lane = { delivery: { idempotency: { header: 'Idempotency-Key', windowMs: HOUR } } };
  await withLane(
    stage,
    'window',
    { upstream: { faults: { 'window:a': story } }, lane },
    async ({ arrivalsOf }) => {
      const key = await publishOne(stage, 'window');
      await throttledOnce(stage, key);
      await stage.pass(3 * HOUR);
      assert.equal((await batchEnd(stage.client, 'window')).counts.uncertain, 1);
      assert.equal(arrivalsOf(key).length, 2);
    },
  );
});
