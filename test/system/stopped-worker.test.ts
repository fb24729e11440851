import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertAllSucceeded, assertBudgetUntouched, items, keysOf, withScene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';
import { assertOneEffectEach } from './support/upstream.ts';

suite('a worker that gets SIGTERM', () => {
  const temporal = useTemporal();

  test('ends the call in flight, sends nothing after it, and a new worker goes on as if nothing had been', () =>
    withScene(
      {
        temporal,
        lanes: { releases: { timeout: '20s', lease: '41s', limit: { requests: 20, per: '1s' } } },
        // So slow that it is still in flight when a busy machine has got round to the signal.
        upstream: { faults: { 'stopped:5': [{ type: 'delay', ms: 10_000, effect: 'committed' }] } },
      },
      async (scene) => {
        const batch = items('stopped', 30);
        const worker = await scene.worker();
        await scene.publish('batch', batch);
        await until('the slow call is in flight', async () =>
          (await scene.upstream.effects()).includes('stopped:5'),
        );
        const [slow] = await scene.upstream.arrivals('stopped:5');
        assert.equal(slow?.endedMs, null, 'it is still in flight');

        const { code, stdout } = await worker.end('SIGTERM');
        assert.equal(code, 0);
        assert.match(stdout, /"event":"stopped"/);
        const log = await scene.upstream.arrivals();
        assert.equal(log.at(-1)?.key, 'stopped:5', 'nothing was sent after the call in flight');
        assert.equal(log.at(-1)?.status, 201, 'the call in flight was not cut');

        await scene.worker();
        assertAllSucceeded(await scene.settled('batch'), 30);
        await assertOneEffectEach(scene.upstream, keysOf(batch));
        assert.equal((await scene.upstream.arrivals()).length, 30, 'none was sent twice');
        for (const { key } of batch) assertBudgetUntouched(await scene.record(key));
      },
    ));

  test('gives an item back that waits for its turn, without waiting for it', () =>
    withScene(
      {
        temporal,
        // A worker begins with a full window behind it, so that the first call waits for a whole `per`.
        lanes: { releases: { limit: { requests: 1, per: '30s' } } },
      },
      async (scene) => {
        const worker = await scene.worker();
        await scene.publish('batch', items('given-back', 1));
        await until(
          'the item is in the slot',
          async () => (await scene.record('given-back:0')).sender !== null,
        );
        const askedAt = performance.now();
        const { code } = await worker.end('SIGTERM');
        assert.equal(code, 0);
        assert.ok(performance.now() - askedAt < 20_000, 'it did not wait for the turn, 30 s away');
        assert.deepEqual(await scene.upstream.arrivals(), []);
        assertBudgetUntouched(await scene.record('given-back:0'));
        assert.equal((await scene.record('given-back:0')).state, 'waiting');
      },
    ));
});
