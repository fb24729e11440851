/**
 * Records the histories that test/workflows/replay.test.ts replays: one of each workflow's main paths, on a dev server
 * of its own. To be run when a path is added, never to make a failing replay pass: the old histories are what is
 * running somewhere.
 *
 *   npx tsx scripts/record-histories.ts            writes those that are missing
 *   npx tsx scripts/record-histories.ts --all      writes all of them anew
 */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { type Batch, itemRecord, operateLane, publish } from '../src/client.ts';
import type { FaultScript } from '../src/dev/upstream/faults.ts';
import { laneWorkflowId } from '../src/domain/ids.ts';
import { SENT, withFleet } from '../test/support/fleet.ts';
import { historyToText } from '../test/support/history.ts';
import { withLane } from '../test/support/scene.ts';
import { type Stage, devServerStage } from '../test/support/stage.ts';
import { batchEnd, until } from '../test/support/wait.ts';

const FOLDER = new URL('../test/histories/', import.meta.url);

/** The key of each item tells what becomes of it. */
const FAULTS: FaultScript = {
  refused: [{ type: 'status', status: 422 }],
  retried: [{ type: 'throttle', retryAfter: '1' }, { type: 'lostResponse' }],
};
const BATCH: Batch = {
  batchId: 'recorded',
  lane: 'recorded',
  publisher: 'record-histories',
  items: [
    { key: 'succeeded', payload: { n: 1 } },
    { key: 'succeeded', payload: { n: 1 } },
    { key: 'refused', payload: { n: 2 } },
    { key: 'retried', payload: { n: 3 } },
    { key: 'taken', payload: { n: 4 } },
    { key: 'cancelled', payload: { n: 5 }, notBefore: '2999-01-01T00:00:00Z' },
    'no item',
  ],
};

async function record({ client }: Stage, workflowId: string, name: string): Promise<void> {
  const file = new URL(`${name}.json`, FOLDER);
  if (existsSync(file) && !process.argv.includes('--all')) return;
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  await writeFile(file, historyToText(history));
  process.stdout.write(`${name}: ${history.events?.length ?? 0} events\n`);
}

async function recordAll(stage: Stage): Promise<void> {
  await stage.startDispatch();
  await withLane(stage, 'recorded', { upstream: { faults: FAULTS }, open: false }, async ({ config }) => {
    await stage.client.workflow.start('other', { workflowId: 'taken', taskQueue: 'nobody' });
    await publish(stage.client, BATCH);
    await stage.client.workflow.getHandle('batch/recorded').terminate('to record how it is taken up again');
    await until('the end is listed', async () => {
      const query = `WorkflowId = 'batch/recorded' AND ExecutionStatus = 'Terminated'`;
      return (await stage.client.workflow.count(query)).count === 1;
    });
    await record(stage, 'batch/recorded', 'dispatch-batch-open');
    await publish(stage.client, BATCH);
    await stage.client.workflow.getHandle('cancelled').cancel();
    stage.openLane(config);
    await until(
      'refused is parked',
      async () => (await itemRecord(stage.client, 'refused')).state === 'dead',
    );
    await batchEnd(stage.client, 'recorded');
    await record(stage, 'batch/recorded', 'dispatch-batch-again');
    for (const name of ['succeeded', 'refused', 'retried', 'cancelled'])
      await record(stage, name, `deliver-item-${name}`);

    const whole = { ...BATCH, batchId: 'whole', items: [{ key: 'whole', payload: {} }] };
    await publish(stage.client, whole);
    await batchEnd(stage.client, 'whole');
    await record(stage, 'batch/whole', 'dispatch-batch-succeeded');
    await publish(stage.client, { ...whole, batchId: 'refused', lane: 'unknown' }).catch(() => undefined);
    await batchEnd(stage.client, 'refused');
    await record(stage, 'batch/refused', 'dispatch-batch-refused');
  });
}

/** A lane with a lost holder and one that gave it back, a pause, an override and a drain; and one that ended idle. */
async function recordLanes(stage: Stage): Promise<void> {
  await stage.startLaneDesk();
  const act = { by: 'recorder', reason: 'to record it' };
  await withFleet(stage, 'operated', async ({ name, standBy, signalClosed }) => {
    const process = await standBy('a');
    const lost = await process.holdOf(1);
    await lost.keep(SENT);
    await signalClosed({ epoch: 1, forMs: 1_000 });
    lost.die();
    const hold = await process.holdOf(2);
    await hold.keep();
    await operateLane.pause(stage.client, name, act);
    await operateLane.override(stage.client, name, { ...act, requests: 5, maxInFlight: null });
    await operateLane.resume(stage.client, name, act);
    await operateLane.clearOverride(stage.client, name, act);
    await operateLane.drain(stage.client, name, act);
    await hold.giveBack(SENT);
    await process.holdOf(3);
    await record(stage, laneWorkflowId(name), 'lane-operated');
  });
  await withFleet(stage, 'idle/acme', async ({ name, standBy }) => {
    const process = await standBy('a', { idleAfterMs: 300 });
    const hold = await process.holdOf(1);
    await hold.wantedBack();
    await hold.giveBack(SENT);
    await stage.client.workflow.getHandle(laneWorkflowId(name)).result();
    await record(stage, laneWorkflowId(name), 'lane-idle');
  });
}

await mkdir(FOLDER, { recursive: true });
const stage = await devServerStage();
try {
  await recordAll(stage);
  await recordLanes(stage);
} finally {
  await stage.close();
}
