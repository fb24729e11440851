import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ItemRecord, type PublishedItem, itemRecord, publish } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { type Scene, withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { batchEnd, eventually, until } from '../support/wait.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Longer than the timers of Node, which would fire at once. */
const BEYOND_TIMERS = 2 ** 31 + DAY;

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

for (const [title, aheadMs] of [
  ['hours', 5 * HOUR],
  ['more than 2^31 milliseconds', BEYOND_TIMERS],
] as const) {
  test(`an item whose notBefore is ${title} ahead is not sent before, and then at once`, async () => {
    const lane = `later-${aheadMs}`;
    await withLane(stage, lane, {}, async ({ arrivalsOf }) => {
      const notBefore = new Date(stage.clock.epochMs() + aheadMs).toISOString();
      const key = await publishOne(lane, { notBefore });
      assert.equal((await itemRecord(stage.client, key)).nextEligibleAt, notBefore);
      await stage.pass(aheadMs - MINUTE);
      assert.equal(arrivalsOf(key).length, 0);
      await stage.pass(2 * MINUTE);
      await until('it is sent', () => arrivalsOf(key).length === 1);
      assert.equal((await batchEnd(stage.client, lane)).counts.succeeded, 1);
    });
  });
}

test('a Retry-After of hours completes with two calls, and nothing of the lane leaves before it has passed', async () => {
  const faults: FaultScript = { 'hours:a': [{ type: 'throttle', retryAfter: '10800' }] };
  await withLane(stage, 'hours', { upstream: { faults } }, async ({ upstream: { arrivals }, arrivalsOf }) => {
    const key = await publishOne('hours');
    const closed = await recordOnce(key, ({ attempts }) => attempts.throttled === 1);
    assert.equal(closed.state, 'retrying');
    assert.match(closed.reason ?? '', /^429 throttled; next try in /);

    await stage.pass(3 * HOUR - MINUTE);
    assert.equal(arrivals().length, 1);
    // Another item that comes now waits for the lane, too. (Sooner, time would stand: see `skipTime`.)
    await publishOne('hours', { key: 'hours:b' });
    await recordOnce(
      'hours:b',
      ({ state, nextEligibleAt }) => state === 'waiting' && nextEligibleAt !== null,
    );
    assert.equal(arrivals().length, 1);
    await stage.pass(2 * MINUTE);
    await batchEnd(stage.client, 'hours');
    await batchEnd(stage.client, 'hours:b');
    assert.equal(arrivalsOf(key).length, 2);
    assert.equal(arrivalsOf('hours:b').length, 1);
    const { receipt, budgetLeft } = await itemRecord(stage.client, key);
    assert.equal(receipt?.status, 201);
    assert.equal(budgetLeft, 5);
  });
});

test('an item goes on through days of throttling when its deadline is none', async () => {
  const throttled: FaultScript[string] = [{ type: 'throttle', retryAfter: '72000', times: 5 }];
  await withLane(
    stage,
    'patient',
    { upstream: { faults: { 'patient:a': throttled } } },
    async ({ arrivalsOf }) => {
      const key = await publishOne('patient');
      for (let times = 1; times <= 5; times++) {
        await recordOnce(key, ({ attempts }) => attempts.throttled === times);
        await stage.pass(72_000_000 + MINUTE);
      }
      const { counts } = await batchEnd(stage.client, 'patient');
      assert.equal(counts.succeeded, 1);
      assert.equal(arrivalsOf(key).length, 6);
    },
  );
});

test('what the upstream refuses parks as dead, with its answer as evidence, and is called once', async () => {
  const refusal: FaultScript[string] = [
    { type: 'status', status: 422, body: `{"error":"no such package"}${'.'.repeat(5_000)}` },
  ];
  await withLane(
    stage,
    'refused',
    { upstream: { faults: { 'refused:a': refusal } } },
    async ({ arrivalsOf }) => {
      const key = await publishOne('refused');
      const { counts } = await batchEnd(stage.client, 'refused');
      assert.deepEqual([counts.accepted, counts.dead, counts.open], [1, 1, 0]);
      const record = await itemRecord(stage.client, key);
      assert.equal(record.state, 'dead');
      assert.equal(record.reason, '422 refused');
      assert.equal(record.evidence?.ended, '422');
      assert.match(record.evidence.body, /^\{"error":"no such package"\}/);
      assert.equal(record.evidence.body.length, 2048);
      assert.equal(record.nextEligibleAt, null);
      assert.equal(arrivalsOf(key).length, 1);
    },
  );
});

test('every attempt carries the same bytes, key, path and correlation ID', async () => {
  const story: FaultScript[string] = [
    { type: 'status', status: 500, effect: 'none' },
    { type: 'throttle', retryAfter: '1' },
    { type: 'reset' },
    { type: 'lostResponse' },
  ];
  await withLane(
    stage,
    'same',
    { upstream: { faults: { 'same:a': story } } },
    async ({ arrivalsOf, effectsOf }) => {
      const key = await publishOne('same', { payload: { b: [1, 'ü'], a: null }, correlationId: 'trace-7' });
      await batchEnd(stage.client, 'same');
      const sent = arrivalsOf(key).map(({ method, path, bodySha256, correlationId }) =>
        JSON.stringify([method, path, bodySha256, correlationId]),
      );
      assert.equal(sent.length, 5);
      assert.equal(new Set(sent).size, 1);
      assert.match(sent[0] ?? '', /"trace-7"/);
      assert.equal(effectsOf(key), 1);
      const { receipt, attempts } = await itemRecord(stage.client, key);
      assert.equal(receipt?.replayed, true);
      assert.deepEqual(
        [attempts.succeeded, attempts.throttled, attempts.ambiguous, attempts.unavailable],
        [1, 1, 3, 0],
      );
    },
  );
});

test('a timeout with unknown completion is repeated under its key, and succeeds as replayed', async () => {
  const story: FaultScript[string] = [{ type: 'hang', effect: 'committed' }];
  await withLane(stage, 'unknown', { upstream: { faults: { 'unknown:a': story } } }, async (scene) => {
    const key = await publishOne('unknown');
    await batchEnd(stage.client, 'unknown');
    assert.equal(scene.arrivalsOf(key).length, 2);
    assert.equal(scene.effectsOf(key), 1);
    const { state, receipt, budgetLeft } = await itemRecord(stage.client, key);
    assert.equal(state, 'succeeded');
    assert.deepEqual([receipt?.replayed, receipt?.attempt], [true, 2]);
    assert.equal(budgetLeft, 4);
  });
});

test('a timeout at an upstream that takes no keys parks as uncertain at once, and is never called again', async () => {
  const faults: FaultScript = { 'keyless:a': [{ type: 'hang', effect: 'committed' }] };
  const options = {
    upstream: { mode: 'neither' as const, faults },
    lane: { delivery: { idempotency: null } },
  };
  await withLane(stage, 'keyless', options, async (scene) => {
    const key = await publishOne('keyless', { correlationId: 'keyless:a' });
    const { counts } = await batchEnd(stage.client, 'keyless');
    assert.deepEqual([counts.uncertain, counts.open], [1, 0]);
    await stage.pass(DAY);
    assert.equal(scene.arrivalsOf(key).length, 1);
    assert.equal(scene.effectsOf(key), 1);
    const { state, reason } = await itemRecord(stage.client, key);
    assert.equal(state, 'uncertain');
    assert.match(reason ?? '', /^TIMEOUT ambiguous: the upstream takes no idempotency keys/);
  });
});

test('a spent budget parks as dead when nothing can have been applied', async () => {
  const story: FaultScript[string] = [{ type: 'status', status: 503, times: 'always' }];
  await withLane(stage, 'spent', { upstream: { faults: { 'spent:a': story } } }, async ({ arrivalsOf }) => {
    const key = await publishOne('spent');
    const { counts } = await batchEnd(stage.client, 'spent');
    assert.equal(counts.dead, 1);
    assert.equal(arrivalsOf(key).length, 5);
    const { reason, budgetLeft } = await itemRecord(stage.client, key);
    assert.equal(reason, '503 unavailable: its budget of 5 is spent');
    assert.equal(budgetLeft, 0);
  });
});

test('a spent budget parks as uncertain when any attempt may have been applied, also when the last was refused', async () => {
  const faults: FaultScript = {
    'maybe:a': [{ type: 'reset' }, { type: 'status', status: 503, times: 'always' }],
    'maybe:b': [{ type: 'reset' }, { type: 'status', status: 422, times: 'always' }],
  };
  await withLane(stage, 'maybe', { upstream: { faults } }, async () => {
    const spent = await publishOne('maybe');
    const refused = await publishOne('maybe', { key: 'maybe:b' });
    assert.equal((await batchEnd(stage.client, 'maybe')).counts.uncertain, 1);
    assert.equal((await batchEnd(stage.client, 'maybe:b')).counts.uncertain, 1);
    assert.equal((await itemRecord(stage.client, spent)).state, 'uncertain');
    assert.match(
      (await itemRecord(stage.client, refused)).reason ?? '',
      /^422 refused; an earlier attempt may/,
    );
  });
});

test('a deadline that passes in an outage parks as dead, and is counted from notBefore', async () => {
  const story: FaultScript[string] = [{ type: 'throttle', status: 503, retryAfter: '5400', times: 'always' }];
  const lane = { delivery: { deadlineMs: HOUR } };
  await withLane(
    stage,
    'outage',
    { upstream: { faults: { 'outage:a': story } }, lane },
    async ({ arrivalsOf }) => {
      const notBefore = new Date(stage.clock.epochMs() + 2 * HOUR).toISOString();
      const key = await publishOne('outage', { notBefore });
      await stage.pass(2 * HOUR + MINUTE);
      await recordOnce(key, ({ attempts }) => attempts.throttled === 1);
      await stage.pass(2 * HOUR);
      const { counts } = await batchEnd(stage.client, 'outage');
      assert.equal(counts.dead, 1);
      assert.equal(arrivalsOf(key).length, 1);
      const { reason } = await itemRecord(stage.client, key);
      const deadline = new Date(Date.parse(notBefore) + HOUR).toISOString();
      assert.equal(reason, `its deadline, ${deadline}, passed`);
    },
  );
});

test('a deadline that passes after an unresolved ambiguous attempt parks as uncertain', async () => {
  const story: FaultScript[string] = [{ type: 'reset' }, { type: 'throttle', retryAfter: '7200' }];
  const lane = { delivery: { deadlineMs: HOUR } };
  await withLane(stage, 'late', { upstream: { faults: { 'late:a': story } }, lane }, async () => {
    const key = await publishOne('late');
    await recordOnce(key, ({ attempts }) => attempts.throttled === 1);
    await stage.pass(3 * HOUR);
    assert.equal((await batchEnd(stage.client, 'late')).counts.uncertain, 1);
    assert.match(
      (await itemRecord(stage.client, key)).reason ?? '',
      /^its deadline, .*, passed; an earlier attempt may have been applied$/,
    );
  });
});

test('an ambiguous attempt is not repeated once the key window of the upstream has passed', async () => {
  const story: FaultScript[string] = [{ type: 'reset' }, { type: 'throttle', retryAfter: '7200' }];
  const lane = { delivery: { idempotency: { header: 'Idempotency-Key', windowMs: HOUR } } };
  await withLane(
    stage,
    'window',
    { upstream: { faults: { 'window:a': story } }, lane },
    async ({ arrivalsOf }) => {
      const key = await publishOne('window');
      await recordOnce(key, ({ attempts }) => attempts.throttled === 1);
      await stage.pass(3 * HOUR);
      assert.equal((await batchEnd(stage.client, 'window')).counts.uncertain, 1);
      assert.equal(arrivalsOf(key).length, 2);
    },
  );
});

test('cancelling an item whose call is in flight lets the call end: a success stands', async () => {
  const faults: FaultScript = { 'flight:a': [{ type: 'delay', ms: 400, effect: 'committed' }] };
  await withLane(stage, 'flight', { upstream: { faults } }, async (scene) => {
    const key = await publishOne('flight');
    await cancelInFlight(scene, key);
    assert.equal((await batchEnd(stage.client, 'flight')).counts.succeeded, 1);
    assert.equal((await itemRecord(stage.client, key)).state, 'succeeded');
  });
});

test('cancelling an item that waits for its notBefore, that backs off, or that is parked discards it', async () => {
  const faults: FaultScript = {
    'giveup:b': [{ type: 'status', status: 422 }],
    'giveup:c': [{ type: 'throttle', retryAfter: '3600' }],
  };
  await withLane(stage, 'giveup', { upstream: { faults } }, async () => {
    const waits = await publishOne('giveup', {
      notBefore: new Date(stage.clock.epochMs() + DAY).toISOString(),
    });
    const parked = await publishOne('giveup', { key: 'giveup:b' });
    await recordOnce(parked, ({ state }) => state === 'dead');
    const backsOff = await publishOne('giveup', { key: 'giveup:c' });
    await recordOnce(backsOff, ({ state }) => state === 'retrying');
    for (const key of [waits, parked, backsOff]) {
      await stage.client.workflow.getHandle(key).cancel();
      await recordOnce(key, ({ state }) => state === 'discarded');
    }
    assert.equal((await batchEnd(stage.client, 'giveup')).counts.discarded, 1);
    assert.equal((await batchEnd(stage.client, 'giveup:c')).counts.discarded, 1);
  });
});

/** Publishes a batch of one item, named like its lane unless the item has a key of its own; returns the key. */
async function publishOne(lane: string, item: Partial<PublishedItem> = {}): Promise<string> {
  const key = item.key ?? `${lane}:a`;
  const batchId = item.key ?? lane;
  const { admissions } = await publish(stage.client, {
    batchId,
    lane,
    items: [{ payload: { lane }, ...item, key }],
  });
  assert.deepEqual(admissions, [{ position: 0, key, admission: 'accepted' }]);
  return key;
}

/** Waits until an item's record is as described. */
async function recordOnce(key: string, holds: (record: ItemRecord) => boolean): Promise<ItemRecord> {
  return await eventually(`the record of ${key}`, async () => {
    const record = await itemRecord(stage.client, key);
    return holds(record) ? record : undefined;
  });
}

async function cancelInFlight({ arrivalsOf }: Scene, key: string): Promise<void> {
  await until(`the call of ${key} is in flight`, () => arrivalsOf(key).length === 1);
  await stage.client.workflow.getHandle(key).cancel();
}
