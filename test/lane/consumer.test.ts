import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { itemRecord, publish } from '../../src/client.ts';
import type { ArrivalRecord } from '../../src/dev/upstream/records.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { atRest, pendingOf, recordOnce, throttledOnce } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage, timeSkippingStage } from '../support/stage.ts';
import { batchEnd, eventually, until } from '../support/wait.ts';

/** A real server: the other one hands items to workers that have left. */
let stage: Stage;
/** Where minutes have to pass. */
let skipping: Stage;
before(async () => {
  stage = await devServerStage();
  skipping = await timeSkippingStage();
  await stage.startDispatch();
  await skipping.startDispatch();
});
after(async () => {
  await stage.close();
  await skipping.close();
});

for (const [title, retryAfter] of [
  ['no Retry-After', undefined],
  ['Retry-After: 0', '0'],
] as const) {
  test(`429 with ${title} does not spin: the lane backs off by itself, doubling`, async () => {
    const lane = `spin-${retryAfter ?? 'none'}`;
    const throttle: FaultScript[string] = [
      { type: 'throttle', times: 2, ...(retryAfter === undefined ? {} : { retryAfter }) },
    ];
    await withLane(
      stage,
      lane,
      { upstream: { faults: { [`${lane}:a`]: throttle } } },
      async ({ upstream }) => {
        await publishItems(stage, lane, ['a']);
        await batchEnd(stage.client, lane);
        const [first = 0, second = 0, ...more] = gapsBetween(upstream.arrivals());
        assert.ok(first >= 1_000, `the first wait was ${first} ms`);
        assert.ok(second >= 2_000, `the second wait was ${second} ms`);
        assert.deepEqual(more, []);
      },
    );
  });
}

test('a key that is always throttled parks at last, and does not keep the lane from the others', async () => {
  const faults: FaultScript = { 'stuck:a': [{ type: 'throttle', times: 'always' }] };
  const lane = { delivery: { retry: { budget: 2, initialMs: 20, maxMs: 100 } } };
  await withLane(skipping, 'stuck', { upstream: { faults }, lane }, async ({ arrivalsOf }) => {
    await publishItems(skipping, 'stuck', ['a']);
    await throttledOnce(skipping, 'stuck:a');
    for (let others = 0; (await atRest(skipping, 'stuck:a')).state === 'retrying'; others++) {
      assert.ok(others < 100, 'it lives for ever');
      await publishItems(skipping, 'stuck', [`b${others}`], `stuck-${others}`);
      // What succeeds between keeps the lane's backoff at its first second.
      skipping.clock.move(1_000);
      assert.equal((await batchEnd(skipping.client, `stuck-${others}`)).counts.succeeded, 1);
      await skipping.pass(1_000);
    }
    const { state, reason } = await itemRecord(skipping.client, 'stuck:a');
    assert.deepEqual([state, reason], ['dead', '429 throttled: its budget of 2 is spent']);
    // 20 are free, the rest are two of a budget of two.
    assert.equal(arrivalsOf('stuck:a').length, 22);
  });
});

test('a lane that is closed for long takes nothing out of its queue, so that the backlog shows', async () => {
  const faults: FaultScript = { 'shut:a': [{ type: 'throttle', retryAfter: '60' }] };
  await withLane(skipping, 'shut', { upstream: { faults } }, async ({ upstream }) => {
    await publishItems(skipping, 'shut', ['a']);
    await throttledOnce(skipping, 'shut:a');
    await until('the lane rests', () => skipping.said.some((line) => line.startsWith('lane shut is closed')));
    await publishItems(skipping, 'shut', ['b'], 'shut-2');
    await until('b is in the queue', async () => (await pendingOf(skipping, 'shut:b')) !== undefined);
    assert.equal((await pendingOf(skipping, 'shut:b'))?.started, false);
    assert.equal(upstream.arrivals().length, 1);
    await skipping.pass(61_000);
    assert.equal((await batchEnd(skipping.client, 'shut-2')).counts.succeeded, 1);
    assert.equal((await batchEnd(skipping.client, 'shut')).counts.succeeded, 1);
    // Only the probe was alone; neither came before the lane was open.
    assert.equal(upstream.arrivals().length, 3);
  });
});

test('the next item is at hand, and does not leave before what the last call taught is stored', async () => {
  const faults: FaultScript = { 'store:a': [{ type: 'throttle' }] };
  await withLane(stage, 'store', { upstream: { faults }, open: false }, async ({ config, arrivalsOf }) => {
    const stored = new AbortController();
    stage.openLane(config, async () => {
      if (!stored.signal.aborted) await once(stored.signal, 'abort');
    });
    try {
      await publishItems(stage, 'store', ['a']);
      await until('a was throttled', () => arrivalsOf('store:a')[0]?.status === 429);
      await publishItems(stage, 'store', ['b'], 'store-2');
      await until('b is at hand', async () => (await pendingOf(stage, 'store:b'))?.started === true);
      // The lane would be open again.
      stage.clock.move(2_000);
      for (let look = 0; look < 20; look++) await pendingOf(stage, 'store:b');
      assert.equal(arrivalsOf('store:b').length, 0);
    } finally {
      stored.abort();
    }
    assert.equal((await batchEnd(stage.client, 'store-2')).counts.succeeded, 1);
  });
});

test('stopping lets the call in flight end, and gives back what waits in the slot unharmed', async () => {
  const faults: FaultScript = { 'stop:a': [{ type: 'delay', ms: 400, effect: 'none' }] };
  // After its first call the lane waits for an hour.
  const lane = { limit: { requests: 1, perMs: 3_600_000, burst: 1, arrivalWithinMs: null } };
  await withLane(stage, 'stop', { upstream: { faults }, lane }, async ({ config, upstream, arrivalsOf }) => {
    await publishItems(stage, 'stop', ['a']);
    await until('a is in the slot', async () => (await pendingOf(stage, 'stop:a'))?.started === true);
    assert.equal(upstream.arrivals().length, 0);
    await stage.closeLane('stop');
    assert.equal(upstream.arrivals().length, 0);
    const back = await recordOnce(stage, 'stop:a', ({ sender }) => sender === null);
    assert.deepEqual([back.state, back.budgetLeft, back.evidence], ['waiting', 5, null]);

    const opened = stage.openLane(config);
    stage.clock.move(3_600_000);
    await until('a is in flight', () => arrivalsOf('stop:a').length === 1);
    await opened.stop('to see what becomes of the call in flight');
    assert.equal((await batchEnd(stage.client, 'stop')).counts.succeeded, 1);
    const { receipt, budgetLeft, attempts } = await itemRecord(stage.client, 'stop:a');
    assert.deepEqual([receipt?.status, budgetLeft, attempts.ambiguous], [201, 5, 0]);
    assert.equal(arrivalsOf('stop:a').length, 1);
  });
});

test('a lane whose credentials are refused pauses itself and says why; a restart goes on, with no budget spent', async () => {
  const faults: FaultScript = { 'fault:a': [{ type: 'status', status: 401 }] };
  await withLane(stage, 'fault', { upstream: { faults } }, async ({ config, upstream }) => {
    await publishItems(stage, 'fault', ['a', 'b']);
    await until('the lane has said so', () =>
      stage.said.some((line) => line.startsWith('lane fault has paused itself: 401 laneFault at fault:a')),
    );
    // Half an hour of a paused lane is none of an item's business.
    const arrivals = upstream.arrivals().length;
    stage.clock.move(1_800_000);
    await recordOnce(stage, 'fault:a', ({ sender, attempts }) => sender === null && attempts.laneFault === 1);
    assert.equal(upstream.arrivals().length, arrivals);

    await stage.closeLane('fault');
    stage.openLane(config);
    assert.equal((await batchEnd(stage.client, 'fault')).counts.succeeded, 2);
    assert.equal((await itemRecord(stage.client, 'fault:a')).budgetLeft, 5);
  });
});

test('a worker that is busy with a call is heard thrice within its lease', async () => {
  const faults: FaultScript = { 'beat:a': [{ type: 'delay', ms: 3_000, effect: 'committed' }] };
  const lane = { delivery: { leaseMs: 1_500, timeoutMs: 5_000 } };
  await withLane(stage, 'beat', { upstream: { faults }, lane }, async () => {
    await publishItems(stage, 'beat', ['a']);
    const beats = new Set<number>();
    await eventually('the end of the call', async () => {
      const pending = await pendingOf(stage, 'beat:a');
      if (pending?.lastHeartbeatAt) beats.add(pending.lastHeartbeatAt.getTime());
      return (await itemRecord(stage.client, 'beat:a')).receipt ?? undefined;
    });
    // Every half second; at the pace that the SDK has by itself there would be two, or three at most.
    assert.ok(beats.size >= 4, `it was heard ${beats.size} times`);
  });
});

async function publishItems(
  { client }: Stage,
  lane: string,
  names: readonly string[],
  batchId = lane,
): Promise<void> {
  const items = names.map((name) => ({ key: `${lane}:${name}`, payload: { name } }));
  await publish(client, { batchId, lane, items });
}

function gapsBetween(arrivals: readonly ArrivalRecord[]): number[] {
  return arrivals.slice(1).map(({ monotonicMs }, index) => monotonicMs - (arrivals[index]?.monotonicMs ?? 0));
}
