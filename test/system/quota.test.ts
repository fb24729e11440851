import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertAllSucceeded, items, keysOf, withScene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';
import { assertOneEffectEach } from './support/upstream.ts';

suite('the quota at the door of the upstream', () => {
  const temporal = useTemporal();
  const TEN_A_SECOND = { requests: 10, per: '1s' };

  test('holds in every window, with one call open at a time and no 429', () =>
    withScene(
      {
        temporal,
        lanes: { releases: { limit: TEN_A_SECOND } },
        upstream: { quota: '10/1s', latency: '20ms' },
      },
      async (scene) => {
        const batch = items('paced', 60);
        await scene.worker();
        await scene.publish('batch', batch);
        assertAllSucceeded(await scene.settled('batch'), 60);
        const stats = await scene.upstream.stats();
        assert.ok(stats.maxInAnyWindow <= 10, `${stats.maxInAnyWindow} in one window`);
        assert.equal(stats.maxInFlight, 1);
        assert.equal(stats.status429, 0);
        assert.equal(stats.arrivals, 60);
        await assertOneEffectEach(scene.upstream, keysOf(batch));
      },
    ));

  test('holds when the worker is killed and started again at once: the new one assumes a full window', () =>
    withScene(
      {
        temporal,
        // All ten may leave at once, so that a new worker that began with an empty window would exceed it.
        lanes: { releases: { limit: { requests: 10, per: '20s', burst: 10 } } },
        upstream: { quota: '10/20s', latency: '20ms' },
      },
      async (scene) => {
        const batch = items('restarted', 20);
        const worker = await scene.worker();
        await scene.publish('batch', batch);
        await until('a window is used up', async () => (await scene.upstream.stats()).effects === 10);
        const [first] = await scene.upstream.arrivals();
        await worker.end('SIGKILL');
        await scene.worker();
        assert.ok(first && Date.now() < first.wallMs + 20_000, 'too late for this test to prove anything');
        assertAllSucceeded(await scene.settled('batch'), 20);
        const stats = await scene.upstream.stats();
        assert.ok(stats.maxInAnyWindow <= 10, `${stats.maxInAnyWindow} in one window`);
        assert.equal(stats.maxInFlight, 1);
        assert.equal(stats.status429, 0);
        await assertOneEffectEach(scene.upstream, keysOf(batch));
      },
    ));

  test('holds with three slots, and at most three calls are open', () =>
    withScene(
      {
        temporal,
        lanes: { releases: { limit: TEN_A_SECOND, maxInFlight: 3 } },
        upstream: { quota: '10/1s', latency: '400ms' },
      },
      async (scene) => {
        const batch = items('wide', 60);
        await scene.worker();
        await scene.publish('batch', batch);
        assertAllSucceeded(await scene.settled('batch'), 60);
        const stats = await scene.upstream.stats();
        assert.ok(stats.maxInAnyWindow <= 10, `${stats.maxInAnyWindow} in one window`);
        assert.equal(stats.maxInFlight, 3);
        assert.equal(stats.status429, 0);
        await assertOneEffectEach(scene.upstream, keysOf(batch));
      },
    ));
});
