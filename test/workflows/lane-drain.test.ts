import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Batch, batchStatus, operateLane, publish } from '../../src/client.ts';
import { openLane } from '../../src/client/open-lane.ts';
import { type LaneChanges, laneConfig } from '../support/lane.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startLaneDesk();
  await stage.startDispatch();
});
after(() => stage.close());

const OPS = { by: 'ada', reason: 'it moves to lane other' };
const BECAUSE = 'lane is being drained: it moves to lane other (by ada)';

function know(lane: string, changes: LaneChanges = {}): void {
  stage.lanes.set(lane, laneConfig(lane, 'http://127.0.0.1:9', changes));
}

async function admissionsOf(batch: Batch) {
  const { admissions } = await publish(stage.client, batch);
  return admissions;
}

test('a lane that is drained rejects what is new with the reason; what it took in before stays accepted', async () => {
  know('drained');
  const first: Batch = { batchId: 'drained-1', lane: 'drained', items: [{ key: 'drained:a', payload: 1 }] };
  const accepted = await admissionsOf(first);
  assert.deepEqual(
    accepted.map(({ admission }) => admission),
    ['accepted'],
  );
  await operateLane.drain(stage.client, 'drained', OPS);

  const next: Batch = {
    batchId: 'drained-2',
    lane: 'drained',
    items: [
      { key: 'drained:b', payload: 2 },
      { key: 'drained:b', payload: 2 },
      { key: 'drained:a', payload: 1 },
    ],
  };
  const expected = [
    { position: 0, key: 'drained:b', admission: 'rejected', reason: BECAUSE },
    { position: 1, key: 'drained:b', admission: 'rejected', reason: BECAUSE },
    { position: 2, key: 'drained:a', admission: 'duplicate', state: 'waiting', batch: 'batch/drained-1' },
  ];
  assert.deepEqual(await admissionsOf(next), expected);
  assert.deepEqual(await admissionsOf(next), expected);
  await assert.rejects(stage.client.workflow.getHandle('drained:b').describe(), /not found/i);

  const running = await stage.client.workflow.getHandle('batch/drained-1').describe();
  await stage.client.workflow.getHandle('batch/drained-1').terminate();
  await until('it is published by a run of its own again', async () => {
    assert.deepEqual(await admissionsOf(first), accepted);
    return (await stage.client.workflow.getHandle('batch/drained-1').describe()).runId !== running.runId;
  });
});

test("a partition's lane is drained by itself: the others go on taking items in, and a dead batch tells both", async () => {
  know('parted', { policy: { partitionBy: { field: 'partition', names: null } } });
  await openLane(stage.client, 'parted/acme');
  await operateLane.drain(stage.client, 'parted/acme', OPS);
  const admissions = await admissionsOf({
    batchId: 'parted',
    lane: 'parted',
    items: [
      { key: 'parted:a', payload: 1, partition: 'acme' },
      { key: 'parted:g', payload: 1, partition: 'globex' },
    ],
  });
  assert.deepEqual(admissions, [
    { position: 0, key: 'parted:a', admission: 'rejected', reason: BECAUSE },
    { position: 1, key: 'parted:g', admission: 'accepted' },
  ]);
  // From its history alone, as while no worker runs.
  await stage.client.workflow.getHandle('batch/parted').terminate();
  const told = await batchStatus(stage.client, 'parted');
  assert.equal(told.from, 'history');
  assert.deepEqual(told.admissions, admissions);
  const { count } = await stage.client.workflow.count(
    `WorkflowType = 'lane' AND OnelaneLane = 'parted/globex' AND ExecutionStatus = 'Running'`,
  );
  assert.equal(count, 1, 'the lane of its first item is open');
});
