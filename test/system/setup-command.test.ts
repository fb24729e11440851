import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { z } from 'zod';
import { withScene } from './support/scene.ts';
import { bareNamespace, useTemporal } from './support/temporal.ts';

suite('the setup command', () => {
  const temporal = useTemporal();
  /** Nothing is sent here. */
  const away = { upstream: null, lanes: { releases: { baseUrl: 'http://127.0.0.1:9' } } };

  test('makes a namespace ready that lacks search attributes; a worker names the command before, and starts after', async () => {
    const bare = await bareNamespace(temporal, 'bare');
    await withScene({ ...away, temporal: bare }, async (scene) => {
      const refused = await scene.run('worker', '--config', 'lanes.yaml', '--json');
      assert.deepEqual([refused.code, refused.stdout], [2, ''], refused.stderr);
      assert.match(refused.stderr, /namespace bare: expected the search attributes OnelaneLane/);
      assert.match(refused.stderr, /^ {2}onelane setup$/m);

      const setUp = await scene.run('setup');
      assert.equal(setUp.code, 0, setUp.stderr);
      assert.match(setUp.stdout, /^search attributes registered: OnelaneLane, .*OnelaneParkedAt$/m);
      assert.match(setUp.stdout, /^closed items are kept for 1d\nwarning: .*onelane setup --retention 30d$/m);
      await scene.worker();

      const again = await scene.run('setup', '--retention', '30d', '--json');
      assert.deepEqual(reportSchema.parse(JSON.parse(again.stdout)), {
        namespace: 'bare',
        created: false,
        registered: [],
        retentionMs: 30 * DAY_MS,
        retentionWasMs: DAY_MS,
      });
    });
  });

  test('makes a namespace that is not there only when that is asked for', async () => {
    const { address, client } = temporal;
    await withScene({ ...away, temporal: { address, client, namespace: 'made' } }, async (scene) => {
      for (const args of [['worker', '--config', 'lanes.yaml'], ['setup']]) {
        const { code, stdout, stderr } = await scene.run(...args);
        assert.deepEqual([code, stdout], [2, ''], stderr);
        assert.match(stderr, /namespace made: .*onelane setup --create/);
      }
      const created = await scene.run('setup', '--create');
      assert.equal(created.code, 0, created.stderr);
      assert.match(created.stdout, /^namespace made was created$/m);
      assert.match(created.stdout, /^closed items are kept for 30d$/m);
    });
  });
});

const DAY_MS = 24 * 3_600_000;
const reportSchema = z.object({
  namespace: z.string(),
  created: z.boolean(),
  registered: z.array(z.string()),
  retentionMs: z.number(),
  retentionWasMs: z.number().nullable(),
});
