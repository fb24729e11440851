import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ItemRefusedError, NotFoundError, itemRecord, operateItem, publish } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { pendingOf, publishOne, recordOnce, untilQueued } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { batchEnd, until } from '../support/wait.ts';

// On the dev server: the time-skipping one can't pause an activity, so that what is taken back is read less surely. It also
// refuses to cancel a call that has just ended, with ACTIVITY_UNKNOWN, and then the item stands still for ever.

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

const ADA = { by: 'ada', reason: 'the upstream was mended' };
const BOB = { by: 'bob', reason: 'it is no longer wanted' };
const REFUSED: FaultScript[string] = [{ type: 'status', status: 422 }];

test('two redrives at once are one, and the same later gives the same answer; it keeps key and bytes', async () => {
  await withLane(stage, 'redrive', { upstream: { faults: { 'redrive:a': REFUSED } } }, async (scene) => {
    const key = await publishOne(stage, 'redrive');
    const parked = await recordOnce(stage, key, ({ state }) => state === 'dead');
    assert.equal(parked.owner, 'release-engineering');
    await stage.closeLane('redrive');
    const [one, other] = await Promise.all([
      operateItem.redrive(stage.client, key, ADA),
      operateItem.redrive(stage.client, key, ADA),
    ]);
    assert.deepEqual(one, other);
    assert.deepEqual([one.state, one.round, one.order?.kind], ['waiting', 1, 'redrive']);
    await untilQueued(stage, key);
    assert.deepEqual(await operateItem.redrive(stage.client, key, ADA), one);

    stage.openLane(scene.config);
    const done = await recordOnce(stage, key, ({ state }) => state === 'succeeded');
    assert.deepEqual([done.round, done.budgetLeft, done.attempts.refused], [1, 5, 1]);
    assert.deepEqual(
      done.orders.map(({ kind, by, reason }) => [kind, by, reason]),
      [['redrive', 'ada', ADA.reason]],
    );
    assert.deepEqual(
      done.trail.map(({ attempt, round, ended }) => [attempt, round, ended]),
      [
        [1, 0, '422'],
        [2, 1, '201'],
      ],
    );
    const sent = scene.arrivalsOf(key).map(({ bodySha256 }) => bodySha256);
    assert.equal(sent.length, 2);
    assert.equal(new Set(sent).size, 1);
  });
});

test('redrive of a succeeded item is refused, with its receipt', async () => {
  await withLane(stage, 'done', {}, async () => {
    const key = await publishOne(stage, 'done');
    const { receipt } = await recordOnce(stage, key, ({ state }) => state === 'succeeded');
    await assert.rejects(operateItem.redrive(stage.client, key, ADA), (error) => {
      assert(error instanceof ItemRefusedError, String(error));
      assert.match(error.message, /it has succeeded: status 201, /);
      assert.deepEqual(error.answer?.receipt, receipt);
      return true;
    });
  });
});

test('what cannot be done to an item is refused with why, and changes nothing', async () => {
  const faults: FaultScript = { 'wrong:a': [{ type: 'throttle', retryAfter: '3600' }], 'wrong:b': REFUSED };
  await withLane(stage, 'wrong', { upstream: { faults }, open: false }, async ({ config }) => {
    const waits = await publishOne(stage, 'wrong');
    const { client } = stage;
    const word = { ...ADA, receipt: { upstreamId: null } };
    for (const [act, message] of [
      [
        () => operateItem.redrive(client, waits, ADA),
        /only a parked item can be redriven, and it is not parked/,
      ],
      [() => operateItem.resolve(client, waits, word), /only a parked item can be resolved/],
      [
        () => operateItem.redrive(client, waits, { ...ADA, by: ' ' }),
        /by: expected who does this, got nothing/,
      ],
      [() => operateItem.redrive(client, waits, { ...ADA, reason: '' }), /reason: expected why, got nothing/],
      [
        () => operateItem.discard(client, waits, { ...ADA, reason: 'x'.repeat(1_001) }),
        /at most 1000 characters/,
      ],
      [
        () => operateItem.resolve(client, waits, { ...ADA, receipt: { upstreamId: '' } }),
        /receipt.upstreamId: expected a text/,
      ],
    ] as [() => Promise<unknown>, RegExp][])
      await assert.rejects(act, (error) => {
        assert(error instanceof ItemRefusedError, String(error));
        assert.match(error.message, message);
        return true;
      });
    await assert.rejects(operateItem.redrive(client, 'nobody', ADA), NotFoundError);
    assert.deepEqual((await itemRecord(client, waits)).orders, []);
    stage.openLane(config);
    await recordOnce(stage, waits, ({ state }) => state === 'retrying');
  });
});

test('an item is discarded while it waits for its time, in the queue, for its next try, or in the park; twice the same is the same', async () => {
  const faults: FaultScript = {
    'gone:parked': REFUSED,
    'gone:retrying': [{ type: 'throttle', retryAfter: '3600' }],
  };
  await withLane(stage, 'gone', { upstream: { faults } }, async ({ arrivalsOf }) => {
    const parked = await publishOne(stage, 'gone', { key: 'gone:parked' });
    await recordOnce(stage, parked, ({ state }) => state === 'dead');
    const early = await publishOne(stage, 'gone', { key: 'gone:early', notBefore: '2999-01-01T00:00:00Z' });
    const retrying = await publishOne(stage, 'gone', { key: 'gone:retrying' });
    await recordOnce(stage, retrying, ({ state }) => state === 'retrying');
    const queued = await publishOne(stage, 'gone', { key: 'gone:queued' });
    await untilQueued(stage, queued);
    for (const key of [parked, early, retrying, queued]) {
      const answer = await operateItem.discard(stage.client, key, BOB);
      assert.equal(answer.state, 'discarded');
      await until(`${key} has ended`, async () => (await itemRecord(stage.client, key)).endedAt !== null);
      assert.deepEqual(await operateItem.discard(stage.client, key, BOB), answer);
      await assert.rejects(operateItem.discard(stage.client, key, ADA), /it was discarded by bob/);
      const { by, reason, unresolved } = await itemRecord(stage.client, key);
      assert.deepEqual([by, reason, unresolved], ['bob', BOB.reason, false]);
      assert.equal((await batchEnd(stage.client, key)).counts.discarded, 1);
    }
    assert.equal((await itemRecord(stage.client, retrying)).attempts.throttled, 1);
    assert.equal(arrivalsOf(queued).length, 0);
  });
});

test('an item that is being sent is not discarded: it goes on as if nobody had asked', async () => {
  const faults: FaultScript = { 'busy:a': [{ type: 'delay', ms: 1_200, effect: 'none' }] };
  const lane = { delivery: { leaseMs: 1_500, timeoutMs: 3_000 } };
  await withLane(stage, 'busy', { upstream: { faults }, lane }, async ({ arrivalsOf }) => {
    const key = await publishOne(stage, 'busy');
    await recordOnce(stage, key, ({ state }) => state === 'sending');
    await assert.rejects(operateItem.discard(stage.client, key, BOB), (error) => {
      assert(error instanceof ItemRefusedError, String(error));
      assert.match(error.message, /it is being sent/);
      return true;
    });
    const { attempts, unresolved } = await recordOnce(stage, key, ({ state }) => state === 'succeeded');
    assert.deepEqual([attempts.succeeded, attempts.ambiguous, unresolved], [1, 0, false]);
    assert.equal(arrivalsOf(key).length, 1);
  });
});

test('a held item is taken out of the queue, and goes on with its counters when it is released', async () => {
  const faults: FaultScript = { 'held:a': [{ type: 'status', status: 503, times: 2 }] };
  const lane = { delivery: { retry: { budget: 5, initialMs: 200_000, maxMs: 200_000 } } };
  await withLane(stage, 'held', { upstream: { faults }, lane }, async ({ arrivalsOf }) => {
    const key = await publishOne(stage, 'held');
    const waits = await recordOnce(stage, key, ({ state }) => state === 'retrying');
    const held = await operateItem.hold(stage.client, key, ADA);
    assert.deepEqual(await operateItem.hold(stage.client, key, ADA), held);
    await until('nothing of it is in the queue', async () => (await pendingOf(stage, key)) === undefined);
    const rests = await itemRecord(stage.client, key);
    assert.deepEqual(rests.held, ADA);
    assert.deepEqual([rests.attempts, rests.budgetLeft], [waits.attempts, 4]);
    await operateItem.release(stage.client, key, ADA);
    const released = await itemRecord(stage.client, key);
    assert.deepEqual([released.held, released.budgetLeft, released.attempts.unavailable], [null, 4, 1]);
    assert.equal(arrivalsOf(key).length, 1);
    // Held again while it waits out what was left of its backoff, and discarded from there.
    await operateItem.hold(stage.client, key, BOB);
    await operateItem.discard(stage.client, key, BOB);
    assert.equal((await batchEnd(stage.client, 'held')).counts.discarded, 1);
  });
});

test('Cancel from the Temporal UI discards by the identity of the request; a call in flight ends as what it becomes', async () => {
  const faults: FaultScript = {
    'ui:a': [{ type: 'delay', ms: 600, effect: 'committed' }],
    'ui:b': [{ type: 'throttle', retryAfter: '3600' }],
  };
  await withLane(stage, 'ui', { upstream: { faults } }, async ({ arrivalsOf }) => {
    const flies = await publishOne(stage, 'ui');
    await until('its call is in flight', () => arrivalsOf(flies).length === 1);
    await stage.client.workflow.getHandle(flies).cancel();
    assert.equal((await batchEnd(stage.client, 'ui')).counts.succeeded, 1);
    assert.equal((await itemRecord(stage.client, flies)).state, 'succeeded');

    const backsOff = await publishOne(stage, 'ui', { key: 'ui:b' });
    await recordOnce(stage, backsOff, ({ state }) => state === 'retrying');
    await stage.client.workflow.getHandle(backsOff).cancel();
    assert.equal((await batchEnd(stage.client, 'ui:b')).counts.discarded, 1);
    const { by, reason, attempts } = await itemRecord(stage.client, backsOff);
    assert.deepEqual([by, attempts.throttled], [stage.client.options.identity, 1]);
    assert.equal(reason, 'cancelled from outside');
  });
});

test('a poison item among good ones neither blocks nor burns them, and its batch follows it through redrives', async () => {
  const faults: FaultScript = { 'poison:2': [{ type: 'status', status: 422, times: 2 }] };
  await withLane(stage, 'poison', { upstream: { faults } }, async ({ arrivalsOf }) => {
    const keys = Array.from({ length: 6 }, (_, n) => `poison:${n}`);
    const early = { key: 'poison:early', payload: {}, notBefore: '2999-01-01T00:00:00Z' };
    const items = [...keys.map((key) => ({ key, payload: { key } })), early];
    await publish(stage.client, { batchId: 'poison', lane: 'poison', items });
    for (const key of keys)
      await recordOnce(stage, key, ({ state }) => state === 'succeeded' || state === 'dead');
    await operateItem.redrive(stage.client, 'poison:2', ADA);
    await recordOnce(stage, 'poison:2', ({ state, round }) => state === 'dead' && round === 1);
    await operateItem.redrive(stage.client, 'poison:2', { ...ADA, reason: 'once more' });
    await operateItem.discard(stage.client, early.key, BOB);
    const { counts } = await batchEnd(stage.client, 'poison');
    assert.deepEqual([counts.succeeded, counts.discarded, counts.dead, counts.open], [6, 1, 0, 0]);
    for (const key of keys.filter((other) => other !== 'poison:2')) {
      assert.equal(arrivalsOf(key).length, 1);
      assert.equal((await itemRecord(stage.client, key)).budgetLeft, 5);
    }
  });
});

test('an item found done by an operator has succeeded, by the word of that operator', async () => {
  await withLane(stage, 'word', { upstream: { faults: { 'word:a': REFUSED } } }, async () => {
    const key = await publishOne(stage, 'word');
    await recordOnce(stage, key, ({ state }) => state === 'dead');
    const word = { ...ADA, receipt: { upstreamId: 'up-7' } };
    const answer = await operateItem.resolve(stage.client, key, word);
    const done = await recordOnce(stage, key, ({ endedAt }) => endedAt !== null);
    assert.equal(done.state, 'succeeded');
    const { foundBy, by, reason, upstreamId, status } = done.receipt ?? {};
    assert.deepEqual(
      [foundBy, by, reason, upstreamId, status],
      ['operator', 'ada', ADA.reason, 'up-7', null],
    );
    assert.deepEqual(await operateItem.resolve(stage.client, key, word), answer);
    await assert.rejects(operateItem.resolve(stage.client, key, { ...word, by: 'bob' }), ItemRefusedError);
  });
});
