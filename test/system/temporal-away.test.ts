import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import getPort from 'get-port';
import { startDevServer } from '../../src/dev/temporal/dev-server.ts';
import { Proxy } from './support/proxy.ts';
import { assertAllSucceeded, items, keysOf, type Scene, withScene } from './support/scene.ts';
import { connectTo, useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';
import { assertOneEffectEach } from './support/upstream.ts';

const AWAY_MS = 20_000;
const LANES = { releases: { limit: { requests: 10, per: '1s' } } };
const UPSTREAM = { quota: '10/1s', latency: '20ms' };

suite('a worker cut off from Temporal for 20 s in the middle of a batch loses and doubles nothing,', () => {
  const temporal = useTemporal();
  for (const [name, directions] of [
    ['both ways', { toServer: true, fromServer: true }],
    ['on the way to Temporal', { toServer: true, fromServer: false }],
    ['on the way from Temporal', { toServer: false, fromServer: true }],
  ] as const) {
    test(name, () =>
      withScene({ temporal, lanes: LANES, upstream: UPSTREAM }, async (scene) => {
        const proxy = await Proxy.start(temporal.address);
        try {
          const batch = items(`cut ${name}`, 60);
          await scene.worker({ address: proxy.address });
          await scene.publish('batch', batch);
          await effectsReach(20, scene);
          proxy.cut(directions);
          await sleep(AWAY_MS);
          assert.ok((await scene.upstream.stats()).effects < 60, 'the cut was felt');
          proxy.mend();
          assertAllSucceeded(await scene.settled('batch'), 60);
          await assertQuotaAndEffects(scene, keysOf(batch));
        } finally {
          await proxy.close();
        }
      }),
    );
  }
});

suite('Temporal killed with SIGKILL', () => {
  test('in the middle of a batch: started again on its file, it completes the batch', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'onelane-system-temporal-'));
    const place = {
      dbFile: join(folder, 'temporal.db'),
      port: await getPort({ host: '127.0.0.1', reserve: true }),
    };
    const first = await startDevServer(place);
    const client = await connectTo(first.address);
    try {
      await withScene(
        {
          temporal: { address: first.address, namespace: 'default', client },
          lanes: LANES,
          upstream: UPSTREAM,
        },
        async (scene) => {
          const batch = items('server killed', 60);
          await scene.worker();
          await scene.publish('batch', batch);
          await effectsReach(20, scene);
          await first.kill();
          const again = await startDevServer(place);
          try {
            assertAllSucceeded(await scene.settled('batch'), 60);
            await assertQuotaAndEffects(scene, keysOf(batch));
          } finally {
            await again.stop();
          }
        },
      );
    } finally {
      await client.connection.close();
      await first.stop();
      await rm(folder, { recursive: true });
    }
  });
});

async function effectsReach(count: number, { upstream }: Scene): Promise<void> {
  await until(`${count} effects`, async () => (await upstream.stats()).effects >= count);
}

async function assertQuotaAndEffects({ upstream }: Scene, keys: readonly string[]): Promise<void> {
  const { maxInAnyWindow, maxInFlight, status429 } = await upstream.stats();
  assert.ok(maxInAnyWindow <= 10, `${maxInAnyWindow} in one window`);
  assert.equal(maxInFlight, 1);
  assert.equal(status429, 0);
  await assertOneEffectEach(upstream, keys);
}
