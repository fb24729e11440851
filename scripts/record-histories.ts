/**
 * Records the histories that test/workflows/replay.test.ts replays: one of each workflow's main paths, on a dev server
 * of its own. To be run when a path is added, never to make a failing replay pass: the old histories are what is
 * running somewhere.
 *
 *   npx tsx scripts/record-histories.ts            writes those that are missing
 *   npx tsx scripts/record-histories.ts --all      writes all of them anew
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Batch, itemRecord, operateLane, publish, backfill, createSchedule } from '../src/client.ts';
import type { FaultScript } from '../src/dev/upstream/faults.ts';
import { firingWorkflowId, laneWorkflowId } from '../src/domain/ids.ts';
import { SENT, withFleet } from '../test/support/fleet.ts';
import { historyToText } from '../test/support/history.ts';
import { laneConfig } from '../test/support/lane.ts';
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

/** A window that could not be published at first, since nobody knew its source, and was then. */
async function recordWindows(stage: Stage): Promise<void> {
  const { client } = stage;
  const when = { kind: 'every', every: '1h' } as const;
  const definition = { lane: 'windows', source: 'windows', when, overlap: 'skip', catchUp: '10m' } as const;
  await createSchedule(client, 'recorded', definition, { paused: true });
  const since = new Date(Date.now() - 3_600_000);
  const [window] = await backfill(client, 'recorded', { since });
  const workflowId = firingWorkflowId('recorded', window?.end ?? '');
  await record(stage, workflowId, 'publish-window-refused');
  const folder = await mkdtemp(join(tmpdir(), 'onelane-recorded-'));
  try {
    await writeFile(join(folder, 'items.ndjson'), '{"key":"windowed","payload":{}}\n');
    stage.sources.set('windows', { kind: 'files', pattern: `${folder}/*.ndjson` });
    stage.lanes.set('windows', laneConfig('windows', 'http://127.0.0.1:9'));
    await backfill(client, 'recorded', { since });
    await record(stage, workflowId, 'publish-window-published');
  } finally {
    await rm(folder, { recursive: true });
  }
}

await mkdir(FOLDER, { recursive: true });
const stage = await devServerStage();
try {
  await recordAll(stage);
  await recordLanes(stage);
  await recordWindows(stage);
} finally {
  await stage.close();
}
