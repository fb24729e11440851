import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLane } from '../../src/client/open-lane.ts';
import { operateLane } from '../../src/client.ts';
import { laneWorkflowId, reconcileWorkflowId } from '../../src/domain/ids.ts';
import { ONELANE_LANE, ONELANE_STATE } from '../../src/workflows/visibility.ts';
import { type FakeHold, REPORT } from '../support/fake-process.ts';
import { SENT, WINDOW, withFleet } from '../support/fleet.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  // The least that it takes: a real server asks for it only after thousands of events.
  stage = await devServerStage({ dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 120 } });
  await stage.startLaneDesk();
});
after(() => stage.close());

const OPS = { by: 'ada', reason: 'another lane takes over' };

/** Holds as long as it may, like a real process, and each time says that it sent one call. */
async function serve(hold: FakeHold): Promise<void> {
  if (await hold.wantedBack())
    await hold.giveBack({ ...REPORT, window: WINDOW, tallies: { ...REPORT.tallies, succeeded: 1 } });
}

async function runsOf(name: string): Promise<string[]> {
  const runs: string[] = [];
  const query = `WorkflowId = '${laneWorkflowId(name)}'`;
  for await (const { runId } of stage.client.workflow.list({ query })) runs.push(runId);
  return runs;
}

test('a lane that continues as new while updates and signals arrive loses none', async () => {
  await withFleet(stage, 'long', async ({ name, standBy, record, signalClosed }) => {
    await operateLane.drain(stage.client, name, OPS);
    const a = await standBy('a');
    a.onHold = serve;
    const overrides = Array.from({ length: 40 }, (_, i) => 100 + i);
    const queue = overrides.values();
    const operator = async () => {
      for (const requests of queue) {
        await operateLane.override(stage.client, name, { ...OPS, requests, maxInFlight: null });
        await signalClosed({
          epoch: (await record()).epoch,
          forMs: requests * 60_000,
          because: `for ${requests}`,
        });
      }
    };
    await Promise.all([operator(), operator(), operator(), operator()]);
    await until('it has continued as new more than once', async () => (await runsOf(name)).length > 2);

    const seen = await record();
    assert.deepEqual(
      seen.overrides.map(({ requests }) => requests ?? 0).toSorted((one, other) => one - other),
      overrides,
    );
    assert.equal(seen.closedBecause, 'for 139');
    assert.equal(seen.tallies.succeeded, seen.handovers);
    assert.equal(seen.epoch, a.holds.length);
    assert.equal(seen.takeovers, 0);
    assert.equal(seen.draining?.by, 'ada');
    assert.match((await openLane(stage.client, name)) ?? '', /another lane takes over \(by ada\)/);
    const description = await stage.client.workflow.getHandle(laneWorkflowId(name)).describe();
    assert.equal(description.typedSearchAttributes.get(ONELANE_LANE), name);
    assert.equal(Number(description.raw.executionConfig?.defaultWorkflowTaskTimeout?.seconds), 1);
    for (const { order } of a.holds.slice(1))
      assert.deepEqual(order.last, { kind: 'handedOver', window: WINDOW });
  });
});

test('a lane that nobody holds continues as new, too, and is then held', async () => {
  await withFleet(stage, 'unheld', async ({ name, standBy, record }) => {
    let opened = 0;
    await until('it has continued as new', async () => {
      await openLane(stage.client, name, { process: `p${opened++}`, fingerprint: 'f1' });
      return (await runsOf(name)).length > 1;
    });
    await openLane(stage.client, name, { process: 'the last', fingerprint: 'f1' });
    const a = await standBy('a');
    await a.holdOf(1);
    const { fingerprints } = await record();
    assert.equal(fingerprints.at(-2)?.process, 'the last');
  });
});

async function untilEnded(name: string): Promise<void> {
  await until(`the end of lane ${name}`, async () => {
    const { status } = await stage.client.workflow.getHandle(laneWorkflowId(name)).describe();
    return status.name === 'COMPLETED';
  });
}

test("an idle partition's lane ends, and comes back with its window and under the next epoch", async () => {
  await withFleet(stage, 'idle/acme', async ({ name, standBy }) => {
    const a = await standBy('a', { idleAfterMs: 300 });
    const hold = await a.holdOf(1);
    await hold.wantedBack();
    await hold.giveBack(SENT);
    await untilEnded(name);
    await openLane(stage.client, name);
    await until('it is held again', () => a.holds.length === 2);
    assert.deepEqual(a.holds[1]?.order.last, { kind: 'handedOver', window: WINDOW });
    assert.equal(a.holds[1].order.epoch, 2);
  });
});

test("a partition's lane does not end under an open item or a reconciliation, but under a parked item", async () => {
  await withFleet(stage, 'items/acme', async ({ name, standBy, record }) => {
    const item = (state: string) =>
      stage.client.workflow.start('deliverItem', {
        workflowId: `items:${state}`,
        taskQueue: 'nobody',
        typedSearchAttributes: [
          { key: ONELANE_LANE, value: name },
          { key: ONELANE_STATE, value: state },
        ],
      });
    const waiting = await item('waiting');
    await item('dead');
    const reconciling = await stage.client.workflow.start('reconcile', {
      workflowId: reconcileWorkflowId(name, 'a'),
      taskQueue: 'nobody',
      typedSearchAttributes: [{ key: ONELANE_LANE, value: name }],
    });
    const a = await standBy('a', { idleAfterMs: 300 });
    const hold = await a.holdOf(1);
    await hold.keep();
    await until('it has asked twice whether it is idle', async () => (await idleAnswers(name)) >= 2);
    assert.equal((await record()).holder?.epoch, 1);
    await waiting.terminate();
    const answers = await idleAnswers(name);
    await until('it has asked twice more', async () => (await idleAnswers(name)) >= answers + 2);
    assert.equal((await record()).holder?.epoch, 1);
    await reconciling.terminate();
    await hold.wantedBack();
    await hold.giveBack();
    await untilEnded(name);
  });
});

async function idleAnswers(name: string): Promise<number> {
  const { events } = await stage.client.workflow.getHandle(laneWorkflowId(name)).fetchHistory();
  const asked = events?.filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'laneIsIdle',
  );
  return asked?.length ?? 0;
}

test("a partition's lane that is opened while it ends goes on", async () => {
  await withFleet(stage, 'wake/acme', async ({ name, standBy }) => {
    const a = await standBy('a', { idleAfterMs: 300 });
    const hold = await a.holdOf(1);
    await hold.wantedBack();
    await openLane(stage.client, name);
    await hold.giveBack(SENT);
    const again = await a.holdOf(2);
    assert.deepEqual(again.order.last, { kind: 'handedOver', window: WINDOW });
    assert.equal((await runsOf(name)).length, 1);
  });
});

test("a partition's lane that is opened again and again while it ends is held each time", async () => {
  await withFleet(stage, 'race/acme', async ({ name, standBy }) => {
    const a = await standBy('a', { idleAfterMs: 50 });
    let held = 0;
    a.onHold = async (hold) => {
      held++;
      await serve(hold);
      held--;
    };
    // At ever other moments of its ending, until it has ended some times in between.
    for (let i = 0; (await runsOf(name)).length < 3; i++) {
      const holds = a.holds.length;
      await openLane(stage.client, name);
      await until(`it is held the ${i + 1}th time`, () => held > 0 || a.holds.length > holds);
      await sleep((i * 37) % 400);
    }
  });
});

test("a partition's lane that is paused does not end", async () => {
  await withFleet(stage, 'paused/acme', async ({ name, standBy, record }) => {
    await operateLane.pause(stage.client, name, OPS);
    const a = await standBy('a', { idleAfterMs: 100 });
    const hold = await a.holdOf(1);
    await hold.keep();
    await until('its timer has fired more than once', async () => (await timersFired(name)) >= 2);
    assert.equal((await record()).holder?.epoch, 1);
    await operateLane.resume(stage.client, name, OPS);
    await hold.wantedBack();
  });
});

async function timersFired(name: string): Promise<number> {
  const { events } = await stage.client.workflow.getHandle(laneWorkflowId(name)).fetchHistory();
  return events?.filter((event) => event.timerFiredEventAttributes).length ?? 0;
}
