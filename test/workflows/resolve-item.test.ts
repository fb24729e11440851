import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Worker } from '@temporalio/worker';
import type { LaneActivities } from '../../src/activities/contract.ts';
import { ItemRefusedError, type ItemRecord, itemRecord, operateItem } from '../../src/client.ts';
import { NO_ATTEMPTS } from '../../src/domain/attempts.ts';
import type { Finding, Receipt } from '../../src/domain/delivery.ts';
import { laneTaskQueue } from '../../src/domain/ids.ts';
import { publishOne, recordOnce } from '../support/items.ts';
import { laneConfig } from '../support/lane.ts';
import { type Stage, devServerStage } from '../support/stage.ts';

// The lane is the test's own: it calls nobody, and finds by lookup what the test says.

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

const ADA = { by: 'ada', reason: 'seen in their console' };
const FOUND: Receipt = {
  status: 200,
  upstreamId: 'up-1',
  replayed: false,
  foundBy: 'lookup',
  at: '2026-08-12T17:00:00.000Z',
  attempt: 1,
  by: null,
  reason: null,
};
const FAR_AHEAD = '2999-01-01T00:00:00.000Z';

/** Parks one item as uncertain in a lane whose lookups find what is said, one after the other, and hands over its key. */
async function withUncertain(lane: string, findings: Finding[], play: (key: string) => Promise<void>) {
  const config = laneConfig(lane, 'http://127.0.0.1:9', {
    policy: { lookupPath: '/releases/{key}' },
    delivery: { idempotency: null, lookup: { keyField: 'key' } },
  });
  stage.lanes.set(lane, config);
  const unresolved = { ...NO_ATTEMPTS, settledAttempt: 1, unresolved: true };
  const activities: LaneActivities = {
    callUpstream: () =>
      Promise.resolve({ kind: 'parked', state: 'uncertain', reason: 'TIMEOUT', attempts: unresolved }),
    lookUp: () => Promise.resolve(findings.shift() ?? { kind: 'noEvidence', why: 'nothing more is said' }),
  };
  const connection = await stage.connect();
  const worker = await Worker.create({
    connection,
    taskQueue: laneTaskQueue(lane),
    activities: { ...activities },
  });
  const run = worker.run();
  try {
    const key = await publishOne(stage, lane);
    await recordOnce(stage, key, ({ state }) => state === 'uncertain');
    await play(key);
  } finally {
    worker.shutdown();
    await run;
  }
}

const record = (key: string): Promise<ItemRecord> => itemRecord(stage.client, key);
const claim = (key: string, upstreamId: string | null) =>
  operateItem.resolve(stage.client, key, { ...ADA, receipt: { upstreamId } });

test('a resolve that contradicts the lookup is refused and shows both', async () => {
  await withUncertain('absent', [{ kind: 'absent', at: FAR_AHEAD, status: 404 }], async (key) => {
    await assert.rejects(claim(key, 'up-7'), (error) => {
      assert(error instanceof ItemRefusedError, String(error));
      assert.match(
        error.message,
        /ada says that it is done as "up-7", and the lookup says that it is not \(404\)/,
      );
      return true;
    });
    assert.equal((await record(key)).state, 'uncertain');
    // Asked again, it is looked up again: a refusal is not the answer for ever.
    assert.equal((await claim(key, 'up-7')).receipt?.foundBy, 'operator');
  });
  await withUncertain(
    'other',
    [
      { kind: 'found', receipt: FOUND },
      { kind: 'found', receipt: FOUND },
    ],
    async (key) => {
      await assert.rejects(claim(key, 'up-7'), /ada says "up-7", and the lookup says "up-1"/);
      const { receipt } = await claim(key, 'up-1');
      assert.deepEqual([receipt?.foundBy, receipt?.upstreamId, receipt?.by], ['lookup', 'up-1', 'ada']);
    },
  );
});

test('where the lookup is no evidence, the word of the operator stands', async () => {
  await withUncertain('mute', [{ kind: 'noEvidence', why: '500' }], async (key) => {
    const { state, receipt } = await claim(key, null);
    assert.deepEqual([state, receipt?.foundBy, receipt?.by], ['succeeded', 'operator', 'ada']);
  });
});

test('a reconciliation settles an uncertain item by what it can prove, and nothing else', async () => {
  await withUncertain('settled', [], async (key) => {
    const told = (finding: Finding, round = 0) =>
      operateItem.settle(stage.client, key, { by: 'onelane', reason: 'reconciled', finding, round });
    const parkedAt = (await record(key)).parkedAt ?? '';
    for (const [finding, round] of [
      [{ kind: 'noEvidence', why: 'HTML' }, 0],
      // A call that was given up may still arrive.
      [{ kind: 'absent', at: parkedAt, status: 404 }, 0],
      // What was found out about another round.
      [{ kind: 'found', receipt: FOUND }, 1],
    ] as [Finding, number][])
      assert.equal((await told(finding, round)).state, 'uncertain');

    assert.equal((await told({ kind: 'absent', at: FAR_AHEAD, status: 404 })).state, 'dead');
    const dead = await recordOnce(stage, key, ({ state }) => state === 'dead');
    assert.match(dead.reason ?? '', /^a lookup found that it was not done \(404\); redrive it to send it$/);
    assert.equal(
      (await told({ kind: 'found', receipt: FOUND })).state,
      'dead',
      'only what is uncertain is settled',
    );
  });
  await withUncertain('found', [], async (key) => {
    const finding = { kind: 'found', receipt: FOUND } as const;
    await operateItem.settle(stage.client, key, { by: 'onelane', reason: 'reconciled', finding, round: 0 });
    const done = await recordOnce(stage, key, ({ state }) => state === 'succeeded');
    assert.deepEqual([done.receipt, done.unresolved], [FOUND, false]);
  });
});
