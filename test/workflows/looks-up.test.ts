import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { itemRecord } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
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
