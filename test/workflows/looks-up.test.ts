import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { itemRecord } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import type { UpstreamOptions } from '../../src/dev/upstream/server.ts';
import { publishOne } from '../support/items.ts';
import type { LaneChanges } from '../support/lane.ts';
import { type Scene, withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { batchEnd } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

/** An upstream that takes no keys, and can be asked. Its timeout is short: a lookup waits for a whole one. */
const LOOKUP_ONLY: LaneChanges = {
  policy: { lookupPath: '/effects/{key}' },
  delivery: { idempotency: null, lookup: { keyField: 'key' }, timeoutMs: 300 },
};

const SMALL_BUDGET = { budget: 2, initialMs: 20, maxMs: 100 };

async function withFaults(
  lane: string,
  story: FaultScript[string],
  look: (key: string, scene: Scene) => Promise<void>,
): Promise<void> {
  const upstream = { mode: 'lookup' as const, faults: { [`${lane}:a`]: story } };
  await withLane(stage, lane, { upstream, lane: LOOKUP_ONLY }, async (scene) => {
    // An upstream without keys knows the item by its correlation ID.
    const key = await publishOne(stage, lane, { correlationId: `${lane}:a` });
    await batchEnd(stage.client, lane);
    await look(key, scene);
  });
}

test('a lost answer is looked up: found, the item has succeeded, and nothing is sent again', async () => {
  await withFaults('found', [{ type: 'lostResponse' }], async (key, { arrivalsOf, effectsOf }) => {
    const { state, receipt, evidence } = await itemRecord(stage.client, key);
    assert.equal(state, 'succeeded');
    assert.deepEqual([receipt?.foundBy, receipt?.status], ['lookup', 200]);
    assert.match(receipt?.upstreamId ?? '', /^eff_/);
    assert.equal(evidence?.call, 'lookup');
    assert.equal(arrivalsOf(key).filter(({ method }) => method === 'POST').length, 1);
    assert.equal(effectsOf(key), 1);
  });
});

test('a call that was not applied is looked up, surely absent, and sent again in the same attempt', async () => {
  await withFaults('absent', [{ type: 'reset' }], async (key, { effectsOf }) => {
    const { state, receipt, attempts } = await itemRecord(stage.client, key);
    assert.equal(state, 'succeeded');
    assert.deepEqual([receipt?.foundBy, receipt?.attempt], ['answer', 2]);
    assert.deepEqual([attempts.ambiguous, attempts.succeeded], [1, 1]);
    assert.equal(effectsOf(key), 1);
  });
});

test('a call that arrives long after it was given up is not taken for absent', async () => {
  // Given up after 300 ms; applied 280 ms later, before a whole timeout has passed.
  await withFaults('belated', [{ type: 'delay', ms: 580, effect: 'none' }], async (key, { effectsOf }) => {
    assert.equal((await itemRecord(stage.client, key)).receipt?.foundBy, 'lookup');
    assert.equal(effectsOf(key), 1);
  });
});

test('a lookup that proves nothing is asked again within the budget, and then the item is uncertain, with why', async () => {
  const lookupFaults = {
    'vain:500': [{ type: 'status', status: 500, times: 'always' }],
    'vain:other': [{ type: 'otherRecord', times: 'always' }],
    'vain:html': [{ type: 'html', times: 'always' }],
  } satisfies UpstreamOptions['lookupFaults'];
  const keys = Object.keys(lookupFaults);
  const faults: FaultScript = Object.fromEntries(keys.map((key) => [key, [{ type: 'lostResponse' }]]));
  const upstream = { mode: 'lookup' as const, faults, lookupFaults };
  const lane = { ...LOOKUP_ONLY, delivery: { ...LOOKUP_ONLY.delivery, retry: SMALL_BUDGET } };
  await withLane(stage, 'vain', { upstream, lane }, async ({ effectsOf }) => {
    for (const key of keys) await publishOne(stage, 'vain', { key, correlationId: key });
    for (const [key, why] of [
      ['vain:500', '500'],
      ['vain:other', '200 whose key is not the key'],
      ['vain:html', '200 without a JSON object'],
    ] as const) {
      assert.equal((await batchEnd(stage.client, key)).counts.uncertain, 1, key);
      const { state, reason } = await itemRecord(stage.client, key);
      assert.equal(state, 'uncertain');
      assert.ok(reason?.startsWith(`lookup: ${why}`), String(reason));
      assert.match(String(reason), /its budget of 2 is spent; an earlier attempt may have been applied$/);
      assert.equal(effectsOf(key), 1);
    }
  });
});

test('a throttled lookup closes the lane, costs nothing, and is asked again', async () => {
  const upstream = {
    mode: 'lookup' as const,
    faults: { 'busy:a': [{ type: 'lostResponse' as const }] },
    lookupFaults: { 'busy:a': [{ type: 'throttle' as const, retryAfter: '2' }] },
  };
  await withLane(stage, 'busy', { upstream, lane: LOOKUP_ONLY }, async () => {
    const key = await publishOne(stage, 'busy', { correlationId: 'busy:a' });
    await batchEnd(stage.client, 'busy');
    const { state, receipt, budgetLeft } = await itemRecord(stage.client, key);
    assert.deepEqual([state, receipt?.foundBy, budgetLeft], ['succeeded', 'lookup', 4]);
  });
});

test('lookups keep the pace of the lane, sends and lookups together', async () => {
  const keys = ['pace:1', 'pace:2', 'pace:3'];
  const faults: FaultScript = Object.fromEntries(keys.map((key) => [key, [{ type: 'lostResponse' }]]));
  const quota = { requests: 2, perMs: 500 };
  const upstream = { mode: 'lookup' as const, faults, countLookups: true, quota };
  const limit = { ...quota, burst: 1, arrivalWithinMs: null };
  await withLane(stage, 'pace', { upstream, lane: { ...LOOKUP_ONLY, limit } }, async (scene) => {
    for (const key of keys) await publishOne(stage, 'pace', { key, correlationId: key });
    for (const key of keys) assert.equal((await batchEnd(stage.client, key)).counts.succeeded, 1);
    const { maxInAnyWindow, status429, arrivals } = scene.upstream.stats();
    assert.ok(maxInAnyWindow <= 2, `${maxInAnyWindow} in a window`);
    assert.deepEqual([status429, arrivals], [0, 6]);
  });
});

test('an upstream with keys that has forgotten one is looked up instead of called under it again', async () => {
  const windowMs = 2_000;
  const faults: FaultScript = {
    'forgot:a': [{ type: 'lostResponse' }, { type: 'throttle', retryAfter: '3' }],
  };
  const lane: LaneChanges = {
    policy: { lookupPath: '/effects/{key}' },
    delivery: {
      idempotency: { header: 'Idempotency-Key', windowMs },
      lookup: { keyField: 'key' },
      timeoutMs: 300,
    },
  };
  await withLane(stage, 'forgot', { upstream: { faults, keyWindowMs: windowMs }, lane }, async (scene) => {
    const key = await publishOne(stage, 'forgot');
    await batchEnd(stage.client, 'forgot');
    const { state, receipt } = await itemRecord(stage.client, key);
    assert.deepEqual([state, receipt?.foundBy], ['succeeded', 'lookup']);
    assert.equal(scene.effectsOf(key), 1);
  });
});
