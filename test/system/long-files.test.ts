import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { z } from 'zod';
import { MAIN, Process, onelane } from './support/process.ts';
import { Proxy } from './support/proxy.ts';
import { type Scene, withScene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';
import { assertOneEffectEach } from './support/upstream.ts';

/** Five of them fill a page, so that these are ten pages, where four are published at once. */
const ITEMS = 50;
const BROKEN = 33;

const answerSchema = z.object({
  answered: z.boolean(),
  pages: z.number(),
  counts: z.record(z.string(), z.number()),
  admissions: z.array(z.object({ position: z.number(), admission: z.string() })),
});

suite('publishing long files', () => {
  const temporal = useTemporal();

  test('killed in the middle and run again, a publish answers the same, and each item is done exactly once', () =>
    withScene({ temporal }, async (scene) => {
      const keys = await writeItems(scene, 'killed');
      const args = publishArgs(scene, 'items.ndjson');
      // Nobody answers yet, so that it can't come further than its first pages.
      const killed = onelane(args, { cwd: scene.folder, env: { TEMPORAL_ADDRESS: temporal.address } });
      await untilDurable(scene, 3);
      await killed.end('SIGKILL');
      assert.equal(await scene.hasPage('long', 9), false);

      await scene.worker();
      const again = await scene.run(...args);
      assert.equal(again.code, 3, again.stderr);
      const answer = answerSchema.parse(JSON.parse(again.stdout));
      assert.deepEqual([answer.answered, answer.pages], [true, 10]);
      assert.deepEqual(
        answer.admissions,
        Array.from({ length: ITEMS }, (_, position) => ({
          position,
          admission: position === BROKEN ? 'rejected' : 'accepted',
        })),
      );
      assert.equal((await scene.run(...args)).stdout, again.stdout);
      await until('all is done', async () => (await scene.upstream.effects()).length === keys.length);
      await assertOneEffectEach(scene.upstream, keys);
    }));

  test('from stdin, with Temporal lost in the middle, it says so, and goes on when it is run again', () =>
    withScene({ temporal }, async (scene) => {
      const keys = await writeItems(scene, 'lost');
      const proxy = await Proxy.start(temporal.address);
      const args = publishArgs(scene, '-');
      const lost = piped(scene, args, proxy.address);
      await untilDurable(scene, 3);
      await proxy.close();
      const { code, stderr, stdout } = await lost.ended;
      assert.deepEqual([code, stdout], [6, ''], stderr);
      assert.match(stderr, /Temporal does not answer any more \(.+\); run the same command again/);

      await scene.worker();
      const again = await piped(scene, args, temporal.address).ended;
      assert.equal(again.code, 3, again.stderr);
      assert.equal(answerSchema.parse(JSON.parse(again.stdout)).counts['accepted'], ITEMS - 1);
      await until('all is done', async () => (await scene.upstream.effects()).length === keys.length);
      await assertOneEffectEach(scene.upstream, keys);
    }));

  test('a reader of the answer that goes away does not end the publishing in the middle', () =>
    withScene({ temporal }, async (scene) => {
      const keys = await writeItems(scene, 'unread');
      await scene.worker();
      const args = publishArgs(scene, 'items.ndjson');
      const command = 'node="$1"; shift; { "$node" "$@"; echo "code $?" >&2; } | head -c 10';
      const read = new Process(
        'onelane publish | head',
        '/bin/sh',
        ['-c', command, 'sh', process.execPath, MAIN, ...args],
        {
          cwd: scene.folder,
          env: { TEMPORAL_ADDRESS: temporal.address },
        },
      );
      const { stderr } = await read.ended;
      assert.match(stderr, /could not be written: .*; the batch is published all the same\ncode 3\n$/);
      assert.equal(await scene.hasPage('long', 9), true);
      await until('all is done', async () => (await scene.upstream.effects()).length === keys.length);
    }));

  test('a line that does not end is refused by its number, and nothing is published', () =>
    withScene({ temporal }, async (scene) => {
      await writeFile(join(scene.folder, 'items.ndjson'), '{"payload":1}\n'.padEnd(70 * 1024 * 1024, 'x'));
      for (const from of ['items.ndjson', '-']) {
        const args = publishArgs(scene, from);
        const { code, stderr } = await piped(scene, args, temporal.address).ended;
        assert.equal(code, 2, stderr);
        assert.match(
          stderr,
          /(items\.ndjson|stdin): line 2: longer than 64 MiB, so this is not one item a line/,
        );
      }
      assert.equal(await scene.hasPage('long', 0), false);
    }));
});

/** Returns the keys of those that are no rubbish. */
async function writeItems(scene: Scene, name: string): Promise<string[]> {
  const keys = Array.from({ length: ITEMS }, (_, n) => `${scene.batchId(name)}:${n}`);
  const lines = keys.map((key) => JSON.stringify({ key, payload: { text: 'x'.repeat(200_000) } }));
  // As long as the others, so that it takes as much of its page.
  lines[BROKEN] = `{"key":"${'x'.repeat(200_000)}`;
  await writeFile(join(scene.folder, 'items.ndjson'), lines.join('\n'));
  return keys.filter((_, n) => n !== BROKEN);
}

function publishArgs(scene: Scene, from: string): string[] {
  const batch = scene.batchId('long');
  return ['publish', from, '--lane', scene.lane('releases'), '--batch', batch, '--json'];
}

/** The command with the file as its stdin. */
function piped(scene: Scene, args: readonly string[], address: string): Process {
  const command = ['-c', 'node="$1"; shift; exec "$node" "$@" < items.ndjson', 'sh', process.execPath, MAIN];
  return new Process('onelane publish -', '/bin/sh', [...command, ...args], {
    cwd: scene.folder,
    env: { TEMPORAL_ADDRESS: address },
  });
}

async function untilDurable(scene: Scene, page: number): Promise<void> {
  await until(`page ${page} is durable`, () => scene.hasPage('long', page));
}
