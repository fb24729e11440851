import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { z } from 'zod';
import { type Scene, items, keysOf, withScene } from './support/scene.ts';
import { onelane } from './support/process.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';
import { assertOneEffectEach } from './support/upstream.ts';

suite('the batch command', () => {
  const temporal = useTemporal();
  const lanes = { releases: { limit: { requests: 5, per: '1s' } } };

  test('pauses what is left of a batch, though interrupted and typed again, and resumes it; the report adds up', async () => {
    // Slow enough for two commands to start while it goes on, also on a busy machine.
    const slow = { releases: { limit: { requests: 1, per: '1s' } } };
    await withScene({ temporal, lanes: slow }, async (scene) => {
      const worker = await scene.worker();
      const published = items('paused', 20);
      const batchId = scene.batchId('paused');
      await scene.publish('paused', published);
      await until('some are done', async () => (await scene.upstream.effects()).length >= 3);

      const because = ['--by', 'ada', '--reason', 'wrong release'];
      const env = { TEMPORAL_ADDRESS: temporal.address };
      const interrupted = onelane(['batch', batchId, 'pause', ...because], { cwd: scene.folder, env });
      await interrupted.line(/^paused:\d+: /);
      await interrupted.end('SIGKILL');
      const paused = await scene.run('batch', batchId, 'pause', ...because, '--json');
      assert.equal(paused.code, 0, paused.stderr);
      const done = await scene.upstream.effects();
      assert.ok(done.length < published.length, 'it was paused in the middle');

      const report = await reportOf(scene, batchId);
      assert.deepEqual(report.held, { by: 'ada', reason: 'wrong release' });
      assert.deepEqual(
        [report.counts.published, report.counts.succeeded, report.addsUp],
        [20, done.length, true],
      );
      assert.equal(report.counts.open, 20 - done.length);
      assert.equal(report.drainsInMs, null);
      await worker.end('SIGKILL');
      assert.deepEqual(await reportOf(scene, batchId), report, 'with no worker running');

      await scene.worker();
      assert.deepEqual(await scene.upstream.effects(), done, 'nothing of a paused batch is sent');
      const resumed = await scene.run(
        'batch',
        batchId,
        'resume',
        '--by',
        'ada',
        '--reason',
        'right after all',
      );
      assert.equal(resumed.code, 0, resumed.stderr);
      await scene.settled('paused');
      await assertOneEffectEach(scene.upstream, keysOf(published));

      const text = await scene.run('batch', batchId, '--report');
      assert.equal(text.code, 0, text.stderr);
      assert.match(text.stdout, /^published 20 = 20 accepted \+ 0 duplicate \+ .* \+ 0 absent$/m);
      assert.match(text.stdout, /^accepted 20 = 20 succeeded \+ 0 parked \+ .* \+ 0 open$/m);
      assert.match(text.stdout, /^adds up: yes$/m);
      assert.match(text.stdout, /^0 +paused:0 +accepted +succeeded +\S+ \(answer\)$/m);
      assert.equal((await scene.run('batch', batchId, '--report')).stdout, text.stdout);
    });
  });

  test('discards what is left, in a name and for a reason, and counts it so', async () => {
    await withScene({ temporal, lanes }, async (scene) => {
      await scene.worker();
      const published = items('dropped', 20);
      const batchId = scene.batchId('dropped');
      await scene.publish('dropped', published);

      const nameless = await scene.run('batch', batchId, 'discard', '--by', 'ada');
      assert.equal(nameless.code, 2);
      assert.match(nameless.stderr, /--reason: expected why, got nothing/);
      const empty = await scene.run('batch', batchId, 'discard', '--by', ' ', '--reason', 'no');
      assert.equal(empty.code, 2);
      assert.match(empty.stderr, /by: expected who does this, got nothing/);

      // One that is being sent is refused: the command says so, and is typed again.
      await until('all that was left is discarded', async () => {
        const { code } = await scene.run('batch', batchId, 'discard', '--by', 'ada', '--reason', 'wrong');
        assert.ok(code === 0 || code === 3, `exit code ${code}`);
        return code === 0;
      });
      await scene.settled('dropped');
      const { counts, rows, addsUp } = await reportOf(scene, batchId);
      const effects = await scene.upstream.effects();
      assert.deepEqual(
        [counts.succeeded, counts.discarded, counts.open],
        [effects.length, 20 - effects.length, 0],
      );
      assert.equal(addsUp, true);
      for (const { state, by, reason } of rows)
        if (state === 'discarded') assert.deepEqual({ by, reason }, { by: 'ada', reason: 'wrong' });
    });
  });

  test('what nobody knows ends with 5, and what is no act with 2', async () => {
    await withScene({ temporal }, async (scene) => {
      for (const [args, code] of [
        [['nobody', '--report'], 5],
        [['nobody', 'pause', '--reason', 'any'], 5],
        [['nobody', 'stop', '--reason', 'any'], 2],
      ] as const)
        assert.equal((await scene.run('batch', ...args)).code, code, args.join(' '));
    });
  });
});

const reportSchema = z.object({
  held: z.object({ by: z.string(), reason: z.string() }).nullable(),
  counts: z.object({
    published: z.number(),
    succeeded: z.number(),
    discarded: z.number(),
    open: z.number(),
  }),
  addsUp: z.boolean(),
  drainsInMs: z.number().nullable(),
  rows: z.array(
    z.object({
      key: z.string().nullable(),
      state: z.string().nullable(),
      by: z.string().nullable(),
      reason: z.string().nullable(),
    }),
  ),
});

async function reportOf(scene: Scene, batchId: string): Promise<z.infer<typeof reportSchema>> {
  const { code, stdout, stderr } = await scene.run('batch', batchId, '--report', '--json');
  assert.equal(code, 0, stderr);
  return reportSchema.parse(JSON.parse(stdout));
}
