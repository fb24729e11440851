import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { itemRecord } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { LaneConsumer } from '../../src/lane/consumer.ts';
import { UNSHARED } from '../../src/lane/cover.ts';
import { Gate } from '../../src/lane/gate.ts';
import { overHttp } from '../../src/lane/upstream.ts';
import { publishOne, recordOnce, untilQueued } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

/** Lets an item be throttled for an hour by a process whose lane is, or is not, its own when the answer comes. */
async function throttled(lane: string, held: boolean): Promise<string> {
  const key = `${lane}:a`;
  const faults: FaultScript = { [key]: [{ type: 'throttle', retryAfter: '3600' }] };
  await withLane(stage, lane, { open: false, upstream: { faults } }, async ({ config }) => {
    await publishOne(stage, lane);
    await untilQueued(stage, key);
    const { client, clock } = stage;
    const consumer = new LaneConsumer({
      name: lane,
      holder: 'former',
      config,
      gate: new Gate({ config, clock, cover: UNSHARED }),
      connection: await stage.connect(),
      client,
      clock,
      say: (line) => void stage.said.push(line),
      reach: overHttp,
      held: () => held,
      store: () => Promise.resolve(),
      log: null,
    });
    const running = consumer.start();
    await recordOnce(stage, key, ({ attempts }) => attempts.throttled === 1);
    await consumer.stop('the test is over');
    await running;
  });
  return key;
}

test('an answer that comes when the lane is no longer ours is told to its item, as evidence and not as state', async () => {
  const key = await throttled('late', false);
  const record = await recordOnce(stage, key, ({ late }) => late.length > 0);
  assert.deepEqual(
    record.late.map(({ ended, verdict, retryAfter, holder, attempt }) => [
      ended,
      verdict,
      retryAfter,
      holder,
      attempt,
    ]),
    [['429', 'throttled', '3600', 'former', 1]],
  );
  assert.equal(record.state, 'retrying');
});

test('an answer that comes in time is not', async () => {
  const key = await throttled('in-time', true);
  assert.deepEqual((await itemRecord(stage.client, key)).late, []);
});
