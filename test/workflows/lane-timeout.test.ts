import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { itemRecord, publish } from '../../src/client.ts';
import { laneConfig } from '../support/lane.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

test("a call is given up after its lane's timeout, though its item was admitted under a longer one", async () => {
  const faults = { 'slow:a': [{ type: 'delay', ms: 20_000 } as const] };
  const lane = { delivery: { timeoutMs: 300, retry: { budget: 1, initialMs: 20, maxMs: 20 } } };
  await withLane(stage, 'slow', { upstream: { faults }, lane }, async ({ config, arrivalsOf }) => {
    // As the file had it when the item was published. The lease is cut to what the file says now.
    stage.lanes.set(
      'slow',
      laneConfig('slow', config.baseUrl, { delivery: { ...lane.delivery, timeoutMs: 600_000 } }),
    );
    await publish(stage.client, { batchId: 'slow', lane: 'slow', items: [{ key: 'slow:a', payload: 1 }] });
    await until(
      'it is given up',
      async () => (await itemRecord(stage.client, 'slow:a')).state === 'uncertain',
    );
    const [arrival] = arrivalsOf('slow:a');
    assert(arrival);
  });
});
