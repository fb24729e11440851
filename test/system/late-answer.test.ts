import assert from 'node:assert/strict';
import { test } from 'node:test';
import { items, withScene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';

const temporal = useTemporal();

test('an answer that reaches a process after it lost the lane is evidence, and changes nothing', () =>
  withScene(
    {
      temporal,
      lanes: { releases: { idempotency: 'none', timeout: '2s', lease: '5s' } },
      upstream: {
        mode: 'neither',
        faults: { 'late:0': [{ type: 'delay', ms: 1_000, effect: 'committed' }] },
      },
    },
    async (scene) => {
      // Whoever carries the item must not be frozen with the lane.
      await scene.worker({ roles: ['dispatch'] });
      const former = await scene.worker({ roles: ['lanes'] });
      await scene.publish('batch', items('late', 1));
      await until('the upstream committed', async () => (await scene.upstream.effects()).length === 1);
      former.freeze();
      await scene.worker({ roles: ['lanes'] });
      const { counts } = await scene.settled('batch');
      assert.equal(counts.uncertain, 1);
      const before = await scene.record('late:0');
      assert.deepEqual(before.late, []);

      former.thaw();
      await until('the late answer is told', async () => (await scene.record('late:0')).late.length === 1);
      const { late, ...after } = await scene.record('late:0');
      assert.deepEqual([late[0]?.ended, late[0]?.verdict], ['201', 'succeeded']);
      assert.deepEqual({ ...after, late: [] }, before);
      assert.equal((await scene.upstream.arrivals()).length, 1);
    },
  ));
