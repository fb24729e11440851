import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { Worker } from '@temporalio/worker';
import type { LaneActivities } from '../../src/activities/contract.ts';
import { type Reconciled, itemRecord, publish, reconcileItems } from '../../src/client.ts';
import { NotFoundError } from '../../src/client/errors.ts';
import { NO_ATTEMPTS } from '../../src/domain/attempts.ts';
import type { CallOutcome, Finding, Receipt } from '../../src/domain/delivery.ts';
import { laneTaskQueue } from '../../src/domain/ids.ts';
import { recordOnce } from '../support/items.ts';
import { laneConfig } from '../support/lane.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

const AT = '2026-08-12T17:00:00.000Z';
const RECEIPT: Receipt = {
  status: 201,
  upstreamId: 'effect-1',
  replayed: false,
  foundBy: 'answer',
  at: AT,
  attempt: 1,
  by: null,
  reason: null,
};
const FOUND: Finding = { kind: 'found', receipt: { ...RECEIPT, status: 200, foundBy: 'lookup' } };
const absent = (): Finding => ({ kind: 'absent', at: new Date().toISOString(), status: 404 });
const SILENT: Finding = { kind: 'noEvidence', why: '500' };

type Story = [here: 'uncertain' | 'succeeded' | 'claim', there: () => Finding];

/** What befell each item here, and what its upstream says. */
const STORIES = new Map<string, Story>([
  ['uncertain-there', ['uncertain', () => FOUND]],
  ['uncertain-absent', ['uncertain', absent]],
  ['uncertain-silent', ['uncertain', () => SILENT]],
  ['claimed', ['claim', () => FOUND]],
  ['done-there', ['succeeded', () => FOUND]],
  ['done-absent', ['succeeded', absent]],
  [
    'done-other',
    [
      'succeeded',
      () => ({ kind: 'found', receipt: { ...RECEIPT, upstreamId: 'effect-2', foundBy: 'lookup' } }),
    ],
  ],
  ['done-silent', ['succeeded', () => SILENT]],
]);

/** The slot of a lane, in which each item's story is told. */
function slotOf(lane: string, asked: string[]): LaneActivities {
  const storyOf = (key: string): Story => {
    const story = STORIES.get(key.slice(lane.length + 1));
    assert.ok(story, key);
    return story;
  };
  return {
    callUpstream({ key }): Promise<CallOutcome> {
      const [here] = storyOf(key);
      const unresolved = { ...NO_ATTEMPTS, settledAttempt: 1, unresolved: true };
      switch (here) {
        case 'uncertain':
          return Promise.resolve({ kind: 'parked', state: here, reason: 'no answer', attempts: unresolved });
        case 'succeeded':
          return Promise.resolve({ kind: here, receipt: RECEIPT, attempts: NO_ATTEMPTS });
        case 'claim':
          Context.current().heartbeat(unresolved);
          throw ApplicationFailure.create({ message: 'TIMEOUT ambiguous', nextRetryDelay: '1 hour' });
      }
    },
    lookUp({ key }): Promise<Finding> {
      asked.push(key);
      return Promise.resolve(storyOf(key)[1]());
    },
  };
}

/** Runs a test with an item of each story, each where its story has brought it. */
async function withStories(lane: string, play: (asked: string[]) => Promise<void>): Promise<void> {
  const lookup = { keyField: 'key' };
  const config = laneConfig(lane, 'http://127.0.0.1:9', {
    policy: { lookupPath: '/effects/{key}' },
    delivery: { lookup, timeoutMs: 100 },
  });
  stage.lanes.set(lane, config);
  const asked: string[] = [];
  const activities = slotOf(lane, asked);
  const connection = await stage.connect();
  const worker = await Worker.create({ connection, taskQueue: laneTaskQueue(lane), activities });
  await worker.runUntil(async () => {
    const keys = [...STORIES.keys()].map((name) => `${lane}:${name}`);
    const items = keys.map((key) => ({ key, payload: { key } }));
    await publish(stage.client, { batchId: lane, lane, items });
    for (const key of keys)
      await recordOnce(stage, key, ({ state, reason }) =>
        state === 'waiting' || state === 'retrying' ? reason !== null : true,
      );
    await untilListed(lane);
    await play(asked);
  });
}

async function untilListed(lane: string): Promise<void> {
  await until('the lists tell of all', async () => {
    const uncertain = await count(`OnelaneLane = '${lane}' AND OnelaneState = 'uncertain'`);
    return (
      uncertain === 3 && (await count(`OnelaneLane = '${lane}' AND ExecutionStatus = 'Completed'`)) === 4
    );
  });
}

async function count(query: string): Promise<number> {
  return (await stage.client.workflow.count(query)).count;
}

function byName(lane: string, results: readonly Reconciled[]): Record<string, string> {
  return Object.fromEntries(
    results.map((result) => [
      result.key.slice(lane.length + 1),
      result.kind === 'settled' ? `settled ${result.state}` : result.kind,
    ]),
  );
}

test('uncertain items are settled where the upstream proves something, claims are shown, contradictions are listed', async () => {
  const lane = 'compared';
  await withStories(lane, async (asked) => {
    const sample = { size: 100, seed: 'any' };
    const first = await reconcileItems(stage.client, { by: 'ada', lane, sample });
    assert.deepEqual(byName(lane, first), {
      'uncertain-there': 'settled succeeded',
      'uncertain-absent': 'settled dead',
      'uncertain-silent': 'uncertain',
      claimed: 'claim',
      'done-there': 'agrees',
      'done-absent': 'contradicts',
      'done-other': 'contradicts',
      'done-silent': 'unproven',
    });
    const found = await itemRecord(stage.client, `${lane}:uncertain-there`);
    assert.deepEqual([found.state, found.receipt?.foundBy], ['succeeded', 'lookup']);
    const dead = await itemRecord(stage.client, `${lane}:uncertain-absent`);
    assert.equal(dead.state, 'dead');
    assert.match(dead.reason ?? '', /redrive/);
    assert.deepEqual(
      dead.orders.map(({ kind, by }) => [kind, by]),
      [['reconcile', 'ada']],
    );
    const claimed = await itemRecord(stage.client, `${lane}:claimed`);
    assert.deepEqual([claimed.unresolved, claimed.orders], [true, []], 'a claim is only shown');

    asked.length = 0;
    await until('the lists tell what was settled', async () => {
      const open = `OnelaneLane = '${lane}' AND OnelaneState = 'uncertain' AND ExecutionStatus = 'Running'`;
      return (await count(open)) === 1;
    });
    const again = await reconcileItems(stage.client, { by: 'ada', lane });
    assert.deepEqual(byName(lane, again), { 'uncertain-silent': 'uncertain', claimed: 'claim' });
    assert.deepEqual(asked.toSorted(), [`${lane}:claimed`, `${lane}:uncertain-silent`]);
  });
});

test('of two reconciliations at once each settles or sees what the other did, and nothing is settled otherwise', async () => {
  const lane = 'at-once';
  await withStories(lane, async () => {
    const [one, other] = await Promise.all(
      ['ada', 'bob'].map((by) => reconcileItems(stage.client, { by, lane })),
    );
    for (const results of [one, other]) {
      const told = byName(lane, results ?? []);
      assert.match(told['uncertain-there'] ?? 'moved', /^(settled succeeded|moved)$/);
      assert.match(told['uncertain-absent'] ?? 'moved', /^(settled dead|moved)$/);
    }
    assert.equal((await itemRecord(stage.client, `${lane}:uncertain-there`)).state, 'succeeded');
    assert.equal((await itemRecord(stage.client, `${lane}:uncertain-absent`)).state, 'dead');
  });
});

test('interrupted, it gives up what waits, and the next one finds everything as it was', async () => {
  const lane = 'interrupted';
  stage.lanes.set(lane, laneConfig(lane, 'http://127.0.0.1:9'));
  await withStories(lane, async () => undefined);
  // Nobody looks anything up now.
  const interrupted = new AbortController();
  const reconciling = reconcileItems(stage.client, {
    by: 'ada',
    lane,
    signal: interrupted.signal,
    asking: () => void setTimeout(() => interrupted.abort(new Error('Ctrl-C')), 200),
  });
  await assert.rejects(reconciling, /Ctrl-C/);
  await until('no lookup is left behind', async () => {
    const query = `OnelaneLane = '${lane}' AND WorkflowType = 'reconcile' AND ExecutionStatus = 'Running'`;
    return (await count(query)) === 0;
  });
  assert.equal((await itemRecord(stage.client, `${lane}:uncertain-there`)).state, 'uncertain');
});

test('an item whose upstream has no lookup is said not to be askable; an unknown lane is not found', async () => {
  const lane = 'mute';
  stage.lanes.set(lane, laneConfig(lane, 'http://127.0.0.1:9'));
  const connection = await stage.connect();
  const worker = await Worker.create({
    connection,
    taskQueue: laneTaskQueue(lane),
    activities: slotOf(lane, []),
  });
  const key = `${lane}:uncertain-there`;
  await worker.runUntil(async () => {
    await publish(stage.client, { batchId: lane, lane, items: [{ key, payload: {} }] });
    await recordOnce(stage, key, ({ state }) => state === 'uncertain');
  });
  await until('it is listed', async () => {
    const query = `OnelaneLane = '${lane}' AND OnelaneState = 'uncertain'`;
    return (await count(query)) === 1;
  });
  assert.deepEqual(await reconcileItems(stage.client, { by: 'ada', lane }), [
    { key, lane, kind: 'notAskable', state: 'uncertain' },
  ]);
  await assert.rejects(reconcileItems(stage.client, { by: 'ada', lane: 'muet' }), NotFoundError);
});
