import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertAllSucceeded, assertBudgetUntouched, items, keysOf, withScene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { holdsFor } from './support/until.ts';
import { assertOneEffectEach } from './support/upstream.ts';

/** At 50 calls a second, a lane that goes on would have emptied every queue here several times. */
const WATCHED_MS = 3_000;

suite('a lane that pauses itself', () => {
  const temporal = useTemporal();

  test('on 401 says why, calls nothing more, spends no budget, and stays paused until an operator resumes it', () =>
    withScene(
      { temporal, upstream: { faults: { 'unauthorized:2': [{ type: 'status', status: 401 }] } } },
      async (scene) => {
        const batch = items('unauthorized', 12);
        const worker = await scene.worker();
        await scene.publish('batch', batch);
        const line = await worker.line(/paused itself/);
        assert.match(
          line,
          /401 laneFault at unauthorized:2: .*credentials.*onelane lane releases-\w+ resume/,
        );
        await callsNothingFor(WATCHED_MS, scene);
        assert.equal((await scene.upstream.arrivals()).at(-1)?.status, 401);
        for (const { key } of batch) assertBudgetUntouched(await scene.record(key));

        assert.equal((await worker.end('SIGTERM')).code, 0);
        await scene.worker();
        await callsNothingFor(WATCHED_MS, scene);
        await scene.resume();
        assertAllSucceeded(await scene.settled('batch'), 12);
        await assertOneEffectEach(scene.upstream, keysOf(batch));
      },
    ));

  test('after five items were refused alike keeps the rest from the same end', () =>
    withScene({ temporal, upstream: { faults: wrongUrl(items('refused', 12)) } }, async (scene) => {
      const batch = items('refused', 12);
      const worker = await scene.worker();
      await scene.publish('batch', batch);
      const line = await worker.line(/paused itself/);
      assert.match(line, /404 refused at refused:\d+: the last 5 items were refused alike/);
      await callsNothingFor(WATCHED_MS, scene);
      assert.equal((await scene.upstream.stats()).arrivals, 5);
      const paused = await scene.status('batch');
      assert.deepEqual([paused.counts.dead, paused.counts.open], [5, 7]);
      for (const { key } of batch) assertBudgetUntouched(await scene.record(key));

      await scene.upstream.end('SIGTERM');
      await scene.upstream.start({});
      await scene.resume();
      const { counts, states } = await scene.settled('batch');
      assert.deepEqual([counts.dead, counts.succeeded], [5, 7]);
      const succeeded = keysOf(batch).filter((key) => states[key] === 'succeeded');
      await assertOneEffectEach(scene.upstream, succeeded);
    }));
});

function wrongUrl(batch: readonly { key: string }[]) {
  const notFound = [{ type: 'status' as const, status: 404, times: 'always' as const }];
  return Object.fromEntries(batch.map(({ key }) => [key, notFound]));
}

async function callsNothingFor(
  ms: number,
  { upstream }: { upstream: { stats(): Promise<{ arrivals: number }> } },
) {
  const { arrivals } = await upstream.stats();
  await holdsFor(ms, 'nothing more is called', async () => (await upstream.stats()).arrivals === arrivals);
}
