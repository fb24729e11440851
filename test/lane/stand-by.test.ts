import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { endsCallsWhenClosed } from '../../src/closed-calls.ts';
import { GrpcGate, HEARTBEATS } from '../../bench/fleet/grpc-gate.ts';
import { openLane } from '../../src/client/open-lane.ts';
import { pendingActivityOf } from '../../src/client/pending-activity.ts';
import { laneWorkflowId } from '../../src/domain/ids.ts';
import type { LaneConfig } from '../../src/domain/policy.ts';
import { realClock } from '../../src/lane/clock.ts';
import { StandBy, type StandByParts } from '../../src/lane/stand-by.ts';
import { overHttp } from '../../src/lane/upstream.ts';
import { laneConfig } from '../support/lane.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startLaneDesk();
});
after(() => stage.close());

async function standBy(
  process: string,
  config: LaneConfig,
  said: string[] = [],
  link?: Pick<StandByParts, 'client' | 'connection'>,
): Promise<StandBy> {
  return new StandBy({
    process,
    lanes: new Map([[config.policy.lane, config]]),
    ...(link ?? { connection: await stage.connect(), client: stage.client }),
    clock: realClock,
    say: (line) => void said.push(line),
    reach: overHttp,
    sendLog: null,
  });
}

const config = (lane: string) => laneConfig(lane, 'http://127.0.0.1:9', { delivery: { leaseMs: 3_000 } });

test('a process that is told to stop while it still starts comes to its end', async () => {
  const process = await standBy('early', config('early'));
  const running = process.run();
  await process.stop('SIGTERM');
  await running;
});

test('a process that is told to stop gives its lane back, and another takes it up', async () => {
  const said: string[] = [];
  const a = await standBy('a', config('given'), said);
  const running = a.run();
  await openLane(stage.client, 'given');
  await until('a holds it', () => said.includes('lane given is held by this process, epoch 1'));
  const b = await standBy('b', config('given'), said);
  const other = b.run();
  await a.stop('SIGTERM');
  await running;
  assert(said.includes('lane given was given back, epoch 1'));
  await until('b holds it', () => said.includes('lane given is held by this process, epoch 2'));
  await b.stop('SIGTERM');
  await other;
});

test('a lane whose workflow is terminated is opened again by its holder, under the next epoch', async () => {
  const said: string[] = [];
  const a = await standBy('a', config('ended'), said);
  const running = a.run();
  await openLane(stage.client, 'ended');
  for (const epoch of [1, 2]) {
    await until('a holds it', () => said.includes(`lane ended is held by this process, epoch ${epoch}`));
    await stage.client.workflow.getHandle(laneWorkflowId('ended')).terminate('by mistake');
  }
  await until('a holds it again', () => said.includes('lane ended is held by this process, epoch 3'));
  await a.stop('SIGTERM');
  await running;
});

test('a lane that the file at hand does not know is left to others', async () => {
  const said: string[] = [];
  const a = await standBy('other', config('whole'), said);
  const running = a.run();
  await openLane(stage.client, 'whole/acme');
  await openLane(stage.client, 'whole');
  await until('it holds the one that it knows', () => said.length === 1);
  assert.deepEqual(said, ['lane whole is held by this process, epoch 1']);
  await a.stop('SIGTERM');
  await running;
});

test('a process whose heartbeats do not arrive is not given a lane, though it stands by', async () => {
  const gate = await GrpcGate.open(stage.address);
  const said: string[] = [];
  const address = `127.0.0.1:${gate.port}`;
  const [connection, native] = [
    await Connection.connect({ address, plugins: [endsCallsWhenClosed] }),
    await NativeConnection.connect({ address }),
  ];
  try {
    const mute = await standBy('mute', config('beats'), said, {
      client: new Client({ connection }),
      connection: native,
    });
    const running = mute.run();
    gate.hold(HEARTBEATS);
    await openLane(stage.client, 'beats');
    await until('it was asked', async () => (await askedTo(stage.client, 'beats')) > 2);
    assert.deepEqual(said, []);
    gate.release();
    await until('it holds the lane once they do', () => said.length === 1);
    assert.deepEqual(said, ['lane beats is held by this process, epoch 1']);
    await mute.stop('SIGTERM');
    await running;
  } finally {
    await native.close();
    await connection.close();
    await gate.close();
  }
});

/** How often a process was asked to hold a lane: the attempt of the lane's claim. */
async function askedTo(client: Client, lane: string): Promise<number> {
  const description = await client.workflow.getHandle(laneWorkflowId(lane)).describe();
  return pendingActivityOf(description, 'claimLane')?.attempt ?? 0;
}
