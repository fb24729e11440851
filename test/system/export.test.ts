import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { z } from 'zod';
import { Process } from './support/process.ts';
import { items, keysOf, openScene, type Scene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';

const lineSchema = z.union([
  z.strictObject({ mark: z.string() }),
  z.object({ key: z.string(), state: z.string(), restedAt: z.string() }),
]);

suite('onelane export', () => {
  const temporal = useTemporal();
  const published = items('exported', 5);
  let scene: Scene;
  let first: z.infer<typeof lineSchema>[];
  before(async () => {
    scene = await openScene({
      temporal,
      upstream: { faults: { 'exported:1': [{ type: 'status', status: 422 }] } },
    });
    await scene.worker();
    await scene.publish('exported', published);
    await scene.settled('exported');
    first = await exported('--mark-file', 'mark');
  });
  after(() => scene?.end());

  async function exported(...args: string[]): Promise<z.infer<typeof lineSchema>[]> {
    const { code, stdout, stderr } = await scene.run('export', '--lane', scene.lane('releases'), ...args);
    assert.equal(code, 0, stderr);
    return stdout.split('\n').map((line) => lineSchema.parse(JSON.parse(line)));
  }

  async function markInFile(): Promise<string> {
    return (await readFile(join(scene.folder, 'mark'), 'utf8')).trim();
  }

  test('prints a line for each item at rest and the mark last; from its mark file it goes on', async () => {
    const told = first.flatMap((line) => ('key' in line ? [`${line.key} ${line.state}`] : []));
    assert.deepEqual(
      told.toSorted(),
      keysOf(published).map((key) => `${key} ${key === 'exported:1' ? 'dead' : 'succeeded'}`),
    );
    const last = { mark: await markInFile() };
    assert.deepEqual(first.at(-1), last);
    assert.deepEqual(await exported('--mark-file', 'mark'), [last], 'nothing is told twice');
  });

  test('refuses a mark that is cut off, or of another export, and ends with 2', async () => {
    const mark = await markInFile();
    for (const [since, reason] of [
      [mark.slice(0, -3), /mark: expected it whole/],
      [mark, /mark: expected one of an export of all lanes, got one of lane "releases-/],
    ] as const) {
      const { code, stdout, stderr } = await scene.run('export', '--since', since);
      assert.equal(code, 2, stderr);
      assert.match(stderr, reason);
      assert.equal(stdout, '');
    }
  });

  test('whose reader has gone ends with 1 and a sentence, and keeps no mark', async () => {
    const main = new URL('../../dist/cli/main.js', import.meta.url).pathname;
    const command = `set -o pipefail; "${process.execPath}" "${main}" export --mark-file unread | true`;
    const { code, stderr } = await new Process('export into nothing', 'bash', ['-c', command], {
      cwd: scene.folder,
      env: { TEMPORAL_ADDRESS: temporal.address },
    }).ended;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^onelane: the output could not be written to its end: .*EPIPE/);
    assert.equal(existsSync(join(scene.folder, 'unread')), false);
  });
});
