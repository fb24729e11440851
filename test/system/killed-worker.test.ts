import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertAllSucceeded, assertBudgetUntouched, items, keysOf, withScene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';
import { assertOneEffectEach } from './support/upstream.ts';

/** The answer comes later than the worker is killed; until then the timeout must not end the call either. */
const LATE = [{ type: 'delay' as const, ms: 60_000, effect: 'committed' as const }];
const PATIENT = { timeout: '8s', lease: '17s' };

suite('a worker killed with SIGKILL', () => {
  const temporal = useTemporal();

  test('after the upstream committed: the item is eligible after its lease, and gets the original completion', () =>
    withScene(
      { temporal, lanes: { releases: PATIENT }, upstream: { faults: { 'committed:0': LATE } } },
      async (scene) => {
        const key = 'committed:0';
        const worker = await scene.worker();
        await scene.publish('batch', items('committed', 3));
        await until('the upstream committed', async () => (await scene.upstream.effects()).includes(key));
        await worker.end('SIGKILL');
        const lost = await scene.record(key);
        assert.ok(lost.sender);

        await scene.worker();
        assertAllSucceeded(await scene.settled('batch'), 3);
        const [first, second, ...more] = await scene.upstream.arrivals(key);
        assert.ok(first && second);
        assert.deepEqual(more, []);
        assert.ok(second.wallMs >= Date.parse(lost.sender.leaseUntil));
        assert.equal(second.bodySha256, first.bodySha256);
        const { receipt, attempts } = await scene.record(key);
        assert.equal(receipt?.replayed, true);
        assert.deepEqual([attempts.ambiguous, attempts.succeeded], [1, 1]);
        await assertOneEffectEach(scene.upstream, ['committed:0', 'committed:1', 'committed:2']);
      },
    ));

  test('after an upstream without keys committed: its items are uncertain, and are not sent a second time', () => {
    // Many at once, since each claim must have reached the server before its call, and not only as a rule.
    const batch = items('unkeyed', 8);
    const keys = keysOf(batch);
    const setup = {
      temporal,
      lanes: { releases: { ...PATIENT, idempotency: 'none', maxInFlight: 8 } },
      upstream: { mode: 'neither', faults: Object.fromEntries(keys.map((key) => [key, LATE])) },
    } as const;
    return withScene(setup, async (scene) => {
      const worker = await scene.worker();
      await scene.publish('batch', batch);
      await until('the upstream committed', async () => (await scene.upstream.effects()).length === 8);
      for (const key of keys) assert.equal((await scene.record(key)).state, 'sending');
      await worker.end('SIGKILL');

      await scene.worker();
      const { counts } = await scene.settled('batch');
      assert.deepEqual([counts.uncertain, counts.succeeded, counts.dead], [8, 0, 0]);
      for (const key of keys) assert.match((await scene.record(key)).reason ?? '', /WORKER_LOST/);
      // What the lane does after they parked shows that they are really left alone.
      await scene.publish('later', items('unkeyed-later', 3));
      assertAllSucceeded(await scene.settled('later'), 3);
      await assertOneEffectEach(scene.upstream, [...keys, ...keysOf(items('unkeyed-later', 3))]);
      assert.equal((await scene.upstream.arrivals()).length, 11);
    });
  });

  test('while an item waits for its turn, without keys: it is not uncertain, and is sent once', () =>
    withScene(
      {
        temporal,
        // A worker begins with a full window behind it, so that the first call waits for a whole `per`.
        lanes: { releases: { idempotency: 'none', limit: { requests: 1, per: '8s' } } },
        upstream: { mode: 'neither' },
      },
      async (scene) => {
        const key = 'unsent:0';
        const worker = await scene.worker();
        await scene.publish('batch', items('unsent', 1));
        await until('the item is in the slot', async () => (await scene.record(key)).sender !== null);
        await worker.end('SIGKILL');
        assert.deepEqual(await scene.upstream.arrivals(), []);

        await scene.worker();
        assertAllSucceeded(await scene.settled('batch'), 1);
        assert.equal((await scene.upstream.arrivals()).length, 1);
        await assertOneEffectEach(scene.upstream, [key]);
        assertBudgetUntouched(await scene.record(key));
      },
    ));
});
