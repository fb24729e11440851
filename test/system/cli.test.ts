import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { EXIT } from '../../src/cli/exit.ts';
import type { Ended } from './support/process.ts';
import { items, openScene, type Scene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { assertOneEffectEach } from './support/upstream.ts';

suite('the command line, with a worker running,', () => {
  const temporal = useTemporal();
  let scene: Scene;
  before(async () => {
    scene = await openScene({ temporal });
    await scene.worker();
  });
  after(() => scene?.end());

  async function publish(file: string, content: string, ...args: string[]): Promise<Ended> {
    await writeFile(join(scene.folder, file), content);
    return await scene.run('publish', file, '--lane', scene.lane('releases'), '--json', ...args);
  }

  test('publish, batch and item say as JSON what became of a batch, and end with 0', async () => {
    const [first, second] = items('cli', 2);
    const published = await publish('cli.json', JSON.stringify([first, second]));
    assert.equal(published.code, 0, published.stderr);
    const { batchId, admissions } = publishedSchema.parse(JSON.parse(published.stdout));
    assert.deepEqual(
      admissions.map(({ position, key, admission }) => [position, key, admission]),
      [
        [0, 'cli:0', 'accepted'],
        [1, 'cli:1', 'accepted'],
      ],
    );
    const again = await publish('cli.json', JSON.stringify([first, second]));
    assert.equal(again.stdout, published.stdout, 'the same file is the same batch');

    await scene.settledById(batchId);
    const batch = await scene.run('batch', batchId, '--json');
    assert.equal(batch.code, 0, batch.stderr);
    assert.deepEqual(batchSchema.parse(JSON.parse(batch.stdout)), {
      batchId,
      from: 'workflow',
      states: { 'cli:0': 'succeeded', 'cli:1': 'succeeded' },
    });
    const item = await scene.run('item', 'cli:0', '--json');
    assert.equal(item.code, 0, item.stderr);
    assert.deepEqual(itemSchema.parse(JSON.parse(item.stdout)), {
      key: 'cli:0',
      state: 'succeeded',
      batchId,
      receipt: { status: 201, replayed: false },
    });
  });

  test('a bad line is rejected by its number, the others go on, and publish ends with 3', async () => {
    const [first, second] = items('lines', 2);
    const lines = [JSON.stringify(first), '{"key": "lines:bad", "payload": {', JSON.stringify(second)];
    const published = await publish('lines.ndjson', lines.join('\n'));
    assert.equal(published.code, 3, published.stderr);
    const { batchId, admissions } = publishedSchema.parse(JSON.parse(published.stdout));
    assert.deepEqual(
      admissions.map(({ admission }) => admission),
      ['accepted', 'rejected', 'accepted'],
    );
    assert.match(admissions[1]?.reason ?? '', /^line 2: not JSON/);
    await scene.settledById(batchId);
    await assertOneEffectEach(scene.upstream, ['cli:0', 'cli:1', 'lines:0', 'lines:1']);
  });

  const refused: readonly [what: string, content: string, args: string[], reason: RegExp][] = [
    [
      'an unknown lane',
      JSON.stringify(items('lost', 1)),
      ['--lane', 'nowhere'],
      /lane: expected one of releases-\w+, got "nowhere"/,
    ],
    ['an empty file', '', [], /refused\.ndjson: expected at least one item, got none/],
    [
      'a wait without a unit',
      JSON.stringify(items('waits', 1)),
      ['--wait', '10'],
      /--wait: expected a duration/,
    ],
    [
      'a known batch ID for other items',
      JSON.stringify(items('other', 1)),
      ['--batch', 'taken'],
      /batchId: "taken" is taken by a batch with other content/,
    ],
  ];
  for (const [what, content, args, reason] of refused) {
    test(`publish refuses ${what} with its reason, and ends with 2`, async () => {
      await publish('taken.ndjson', JSON.stringify(items('taken', 1)[0]), '--batch', 'taken');
      const { code, stdout, stderr } = await publish(
        'refused.ndjson',
        content.replace(/^\[|\]$/g, ''),
        ...args,
      );
      assert.equal(code, 2, stderr);
      assert.match(stderr, reason);
      assert.equal(stdout, '');
    });
  }

  test('its help says which version it is, and what its exit codes mean', async () => {
    const version = await scene.run('--version');
    assert.deepEqual([version.code, version.stdout], [0, packageJson.version]);
    const help = await scene.run('--help');
    assert.equal(help.code, 0);
    for (const exitCode of Object.values(EXIT)) assert.match(help.stdout, new RegExp(`\\b${exitCode} \\w`));
  });

  test('what nobody knows ends with 5', async () => {
    for (const [command, name, reason] of [
      ['item', 'nobody:1', /item "nobody:1": nothing is known under this key/],
      ['batch', 'nobody', /batch "nobody": no workflow/],
    ] as const) {
      const { code, stderr } = await scene.run(command, name, '--json');
      assert.equal(code, 5, stderr);
      assert.match(stderr, reason);
    }
  });

  test('a Temporal that is not there ends with 6, and says where it was looked for', async () => {
    const { code, stderr } = await scene.runAt('127.0.0.1:1', 'batch', 'any');
    assert.equal(code, 6, stderr);
    assert.match(stderr, /127\.0\.0\.1:1 \(TEMPORAL_ADDRESS\)/);
  });

  test('a wrong lanes.yaml ends the worker with 2 and a list of every fault', async () => {
    const wrong = 'lanes:\n  a: { owner: me, limit: { requests: 0, per: 10 } }\n  b/c: {}\n';
    await writeFile(join(scene.folder, 'wrong.yaml'), wrong);
    const { code, stdout, stderr } = await scene.run('worker', '--config', 'wrong.yaml', '--json');
    assert.equal(code, 2, stderr);
    assert.equal(stdout, '', 'nothing was started');
    for (const fault of ['a.limit.requests', 'a.limit.per', 'a.retry', 'a.deadline', 'a.upstream', '["b/c"]'])
      assert.ok(stderr.includes(`lanes.${fault}`.replace('.[', '[')), `${fault} in\n${stderr}`);
  });
});

const publishedSchema = z.object({
  batchId: z.string(),
  admissions: z.array(
    z.object({
      position: z.number(),
      key: z.string().nullable(),
      admission: z.string(),
      reason: z.string().optional(),
    }),
  ),
});
const batchSchema = z.object({
  batchId: z.string(),
  from: z.string(),
  states: z.record(z.string(), z.string()),
});
const itemSchema = z.object({
  key: z.string(),
  state: z.string(),
  batchId: z.string(),
  receipt: z.object({ status: z.number(), replayed: z.boolean() }),
});
