import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import pMap from 'p-map';
import { NotFoundError } from '../../src/client.ts';
import { assertAllSucceeded, items, keysOf, type Scene, withScene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';
import { assertOneEffectEach } from './support/upstream.ts';

suite('publishing', () => {
  const temporal = useTemporal();

  test('with the dispatch worker killed in the middle of a batch, every item is answered, then and afterwards', () =>
    withScene({ temporal }, async (scene) => {
      const batch = items('fixture', 150);
      const keys = keysOf(batch);
      const [known] = batch.slice(20);
      const [chosen = ''] = keys.slice(40);
      assert.ok(known);

      await scene.worker({ roles: ['lanes'] });
      const dispatch = await scene.worker({ roles: ['dispatch'] });
      await scene.publish('earlier', [known]);
      assertAllSucceeded(await scene.settled('earlier'), 1);

      const publishing = scene.publish('batch', batch);
      await until(`${chosen} was started`, () => isStarted(scene, chosen));
      await dispatch.end('SIGKILL');

      // The server goes on with the starts that it has, so what is started is asked for before and after.
      const before = await startedOf(scene, keys);
      const down = await scene.status('batch');
      const after = await startedOf(scene, keys);
      const at = (admission: string) =>
        down.admissions.filter((one) => one.admission === admission).map(({ key }) => key ?? '');
      const [accepted, pending, duplicate] = [at('accepted'), at('pending'), at('duplicate')];
      assert.equal(down.from, 'history');
      assert.deepEqual(duplicate, [known.key]);
      assert.ok(before.has(chosen) && accepted.includes(chosen));
      assert.ok(accepted.every((key) => after.has(key)));
      assert.ok(pending.length > 0 && pending.every((key) => !before.has(key)));
      assert.equal(accepted.length + pending.length + duplicate.length, 150);
      const { counts } = down;
      assert.equal(counts.published, counts.accepted + counts.duplicate + counts.pending);
      assert.equal(counts.accepted, counts.succeeded + counts.open);

      await scene.worker({ roles: ['dispatch'] });
      const { admissions } = await publishing;
      assert.deepEqual(
        admissions.filter(({ admission }) => admission !== 'accepted').map(({ position }) => position),
        [20],
      );
      assert.equal(admissions[20]?.admission, 'duplicate');
      assertAllSucceeded(await scene.settled('batch'), 149);
      await assertOneEffectEach(scene.upstream, keys);
      assert.deepEqual((await scene.publish('batch', batch)).admissions, admissions);
    }));

  test('with no lane worker running, admissions are answered, and a lane worker drains it with no publisher', () =>
    withScene({ temporal }, async (scene) => {
      const batch = items('undrained', 40);
      const [known] = batch.slice(3);
      assert.ok(known);
      await writeFile(join(scene.folder, 'batch.json'), JSON.stringify(batch));
      await scene.worker({ roles: ['dispatch'] });
      await scene.publish('earlier', [known]);

      const args = ['batch.json', '--lane', scene.lane('releases'), '--batch', scene.batchId('batch')];
      const publisher = await scene.run('publish', ...args);
      assert.equal(publisher.code, 0, publisher.stderr);
      const { counts, admissions } = await scene.status('batch');
      assert.deepEqual([counts.accepted, counts.duplicate, counts.open], [39, 1, 39]);
      assert.equal(admissions[3]?.admission, 'duplicate');
      assert.deepEqual(await scene.upstream.arrivals(), []);

      await scene.worker({ roles: ['lanes'] });
      assertAllSucceeded(await scene.settled('batch'), 39);
      assertAllSucceeded(await scene.settled('earlier'), 1);
      await assertOneEffectEach(scene.upstream, keysOf(batch));
      assert.deepEqual((await scene.publish('batch', batch)).admissions, admissions);
    }));

  test('with no worker at all, a publish is durable and pending, and a worker started later does it', () =>
    withScene({ temporal }, async (scene) => {
      const batch = items('unanswered', 10);
      await writeFile(join(scene.folder, 'batch.json'), JSON.stringify(batch));
      const id = scene.batchId('batch');
      const args = ['batch.json', '--lane', scene.lane('releases'), '--batch', id, '--json'];

      const published = await scene.run('publish', ...args, '--wait', '1s');
      assert.equal(published.code, 4, published.stderr);
      assert.match(published.stdout, /"answered":false/);
      const asked = await scene.run('batch', id, '--json');
      assert.equal(asked.code, 4, asked.stderr);
      assert.deepEqual((await scene.status('batch')).counts.pending, 10);

      await scene.worker();
      assertAllSucceeded(await scene.settled('batch'), 10);
      await assertOneEffectEach(scene.upstream, keysOf(batch));
      assert.equal((await scene.run('publish', ...args)).code, 0);
    }));
});

/** Asked of Temporal about the item itself, not of its batch. */
async function isStarted(scene: Scene, key: string): Promise<boolean> {
  try {
    await scene.record(key);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}

async function startedOf(scene: Scene, keys: readonly string[]): Promise<Set<string>> {
  const started = await pMap(keys, (key) => isStarted(scene, key), { concurrency: 20 });
  return new Set(keys.filter((_, index) => started[index]));
}
