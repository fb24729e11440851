import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openLane } from '../../src/client/open-lane.ts';
import type { LaneConfig } from '../../src/domain/policy.ts';
import { realClock } from '../../src/lane/clock.ts';
import { StandBy } from '../../src/lane/stand-by.ts';
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

async function standBy(process: string, config: LaneConfig, said: string[] = []): Promise<StandBy> {
  return new StandBy({
    process,
    lanes: new Map([[config.policy.lane, config]]),
    connection: await stage.connect(),
    client: stage.client,
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
