import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import type { LookupScript } from '../../src/dev/upstream/lookup-faults.ts';
import { items, openScene, type Scene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';

const reportSchema = z.object({
  counts: z.record(z.string(), z.number()),
  items: z.array(z.object({ key: z.string(), kind: z.string(), state: z.string().optional() })),
});

suite('onelane reconcile, where the upstream takes no keys but can be asked,', () => {
  const temporal = useTemporal();
  const published = items('reconciled', 3);
  let scene: Scene;
  before(async () => {
    const faults = {
      'reconciled:1': [{ type: 'lostResponse' }],
      'reconciled:2': [{ type: 'hang', effect: 'none' }],
    } satisfies FaultScript;
    const lookupFaults = {
      'reconciled:1': [{ type: 'html' }],
      'reconciled:2': [{ type: 'status', status: 500 }],
    } satisfies LookupScript;
    scene = await openScene({ temporal, upstream: { mode: 'lookup', faults, lookupFaults } });
    await writeFile(
      join(scene.folder, 'lanes.yaml'),
      stringify({ lanes: { [scene.lane('releases')]: laneWithLookup() } }),
    );
    await scene.worker();
    await scene.publish('reconciled', published);
    await scene.settled('reconciled');
    await until('the lists tell of all', async () => (await listed('uncertain')) === 2);
  });
  after(() => scene?.end());

  async function listed(state: string): Promise<number> {
    const query = `OnelaneLane = '${scene.lane('releases')}' AND OnelaneState = '${state}'`;
    return (await temporal.client.workflow.count(query)).count;
  }

  /** Of its budget nothing is left after one lookup that proves nothing. */
  function laneWithLookup(): object {
    return {
      owner: 'tests',
      upstream: {
        baseUrl: scene.upstream.url,
        operations: { release: { method: 'POST', path: '/releases' } },
        timeout: '1s',
        idempotency: 'none',
        lookup: { path: '/effects/{key}' },
      },
      limit: { requests: 50, per: '1s' },
      retry: { budget: 1 },
      deadline: 'none',
      lease: '3s',
    };
  }

  async function reconciled(...args: string[]) {
    const { code, stdout, stderr } = await scene.run(
      'reconcile',
      '--lane',
      scene.lane('releases'),
      '--json',
      ...args,
    );
    return { code, stderr, ...reportSchema.parse(JSON.parse(stdout)) };
  }

  test('uncertain items become what the upstream says; then what succeeded agrees with it, until it has forgotten', async () => {
    for (const key of ['reconciled:1', 'reconciled:2'])
      assert.equal((await scene.record(key)).state, 'uncertain', key);

    const first = await reconciled();
    assert.equal(first.code, 0, first.stderr);
    assert.deepEqual(
      first.items.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
      [
        { key: 'reconciled:1', kind: 'settled', state: 'succeeded' },
        { key: 'reconciled:2', kind: 'settled', state: 'dead' },
      ],
    );
    assert.equal((await scene.record('reconciled:1')).receipt?.foundBy, 'lookup');
    assert.deepEqual((await scene.upstream.effects()).toSorted(), ['reconciled:0', 'reconciled:1']);

    await scene.upstream.end('SIGTERM');
    await rm(join(scene.folder, 'upstream.db'));
    // Its first lookup tells nothing of reconciled:1, as before.
    await scene.upstream.start({});
    const forgotten = await reconciled('--succeeded', '--seed', 'any');
    assert.equal(forgotten.code, 1, forgotten.stderr);
    assert.deepEqual(forgotten.items.map(({ key, kind }) => `${key} ${kind}`).toSorted(), [
      'reconciled:0 contradicts',
      'reconciled:1 unproven',
    ]);
  });
});
