import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { itemRecord, operateItem } from '../../src/client.ts';
import { publishOne, recordOnce } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';

// `temporal workflow reset` runs an item again from a point of its history: what it did after that is unknown to it.

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

const KEYLESS = { upstream: { mode: 'neither' as const }, lane: { delivery: { idempotency: null } } };
const ADA = { by: 'ada', reason: 'looked it up by hand' };

test('a succeeded item that is reset is sent again under its key only: the upstream has one effect', async () => {
  await withLane(stage, 'again', {}, async ({ arrivalsOf, effectsOf }) => {
    const key = await publishOne(stage, 'again');
    const first = await recordOnce(stage, key, ({ state }) => state === 'succeeded');
    await reset(key, 'FirstWorkflowTask');
    const second = await recordOnce(stage, key, ({ receipt }) => receipt?.replayed === true);
    assert.deepEqual([second.state, second.receipt?.upstreamId], ['succeeded', first.receipt?.upstreamId]);
    assert.deepEqual([arrivalsOf(key).length, effectsOf(key)], [2, 1]);
  });
});

test('a succeeded item of an upstream without keys that is reset is not sent again, but waits for a person', async () => {
  await withLane(stage, 'once', KEYLESS, async ({ upstream }) => {
    const key = await publishOne(stage, 'once');
    await recordOnce(stage, key, ({ state }) => state === 'succeeded');
    await reset(key, 'FirstWorkflowTask');
    const parked = await recordOnce(stage, key, ({ state }) => state === 'uncertain');
    assert.equal(parked.unresolved, true);
    assert.equal(upstream.stats().effects, 1);
    await assert.rejects(operateItem.redrive(stage.client, key, ADA), /takes no idempotency keys/);
    await operateItem.resolve(stage.client, key, { ...ADA, receipt: { upstreamId: null } });
    await recordOnce(stage, key, ({ state }) => state === 'succeeded');
    assert.equal(upstream.stats().effects, 1);
  });
});

test('a call that a reset takes along into the new run is not made again where the upstream takes no keys', async () => {
  await withLane(stage, 'along', { ...KEYLESS, open: false }, async ({ config, upstream }) => {
    const key = await publishOne(stage, 'along');
    // A workflow task between the call's beginning and its end, to which it can be reset.
    await operateItem.hold(stage.client, key, ADA);
    await operateItem.release(stage.client, key, ADA);
    await stage.client.workflow.getHandle(key).signal('lateAnswer', null);
    stage.openLane(config);
    await recordOnce(stage, key, ({ state }) => state === 'succeeded');
    await reset(key, 'afterSecondCall');
    await recordOnce(stage, key, ({ state }) => state === 'uncertain');
    assert.equal(upstream.stats().effects, 1);
    assert.equal((await itemRecord(stage.client, key)).unresolved, true);
  });
});

/** Ends the newest run, and begins another one from one of its workflow tasks. */
async function reset(key: string, to: 'FirstWorkflowTask' | 'afterSecondCall'): Promise<void> {
  const { client } = stage;
  const { runId } = await client.workflow.getHandle(key).describe();
  const { events } = await client.workflow.getHandle(key, runId).fetchHistory();
  const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  const calls = (events ?? []).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'callUpstream',
  );
  const fromEvent = to === 'FirstWorkflowTask' ? 0 : Number(calls.at(-1)?.eventId);
  const task = tasks.find(({ eventId }) => Number(eventId) > fromEvent);
  assert(task?.eventId, 'there is such a task');
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId: key, runId },
    workflowTaskFinishEventId: task.eventId,
    reason: 'to test it',
    requestId: crypto.randomUUID(),
  });
}
