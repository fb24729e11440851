import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { z } from 'zod';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import type { Ended } from './support/process.ts';
import { items, keysOf, openScene, type Scene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';

const WHY = ['--by', 'ada', '--reason', 'the schema was mended'];

suite('dead letters, on the command line,', () => {
  const temporal = useTemporal();
  const published = items('dl', 6);
  // Not five refusals in a row: the lane would take the fault for its own, and pause itself.
  const [a, b, , c, d] = keysOf(published);
  assert.ok(a && b && c && d);
  let scene: Scene;
  before(async () => {
    const refused: FaultScript[string] = [
      { type: 'status', status: 422, body: '{"error":"no such package"}' },
    ];
    const faults: FaultScript = { [a]: refused, [b]: refused, [c]: refused, [d]: refused };
    scene = await openScene({ temporal, upstream: { faults } });
    await scene.worker();
    await scene.publish('dl', published);
    await until('four are listed as parked', async () => (await listed()).length === 4);
  });
  after(() => scene?.end());

  async function listed(...args: string[]): Promise<z.infer<typeof letters>> {
    const { code, stdout, stderr } = await scene.run('dead', 'list', '--json', ...args);
    assert.equal(code, 0, stderr);
    return letters.parse(JSON.parse(stdout));
  }

  const dead = (...args: string[]): Promise<Ended> => scene.run('dead', ...args);

  test('are listed with their reason and owner, and chosen by lane, batch, reason and age', async () => {
    const [letter] = await listed();
    assert.deepEqual(letter && [letter.state, letter.owner, letter.reason, letter.round], [
      'dead',
      'tests',
      '422 refused',
      0,
    ]);
    assert.equal((await listed('--lane', scene.lane('releases'), '--because', 'REFUSED')).length, 4);
    for (const none of [
      ['--because', 'throttled'],
      ['--older-than', '1h'],
      ['--lane', scene.lane('releases'), '--because', 'throttled'],
      ['--batch', scene.batchId('dl'), '--because', 'throttled'],
    ])
      assert.deepEqual(await listed(...none), [], none.join(' '));
    for (const unknown of [
      ['--lane', 'nowhere'],
      ['--batch', 'nowhere'],
    ])
      for (const act of [
        ['list'],
        ['redrive', '--reason', 'mistyped'],
        ['discard', '--reason', 'mistyped'],
      ]) {
        const { code, stderr } = await dead(...act, ...unknown);
        assert.equal(code, 5, stderr);
        assert.match(stderr, /(lane|batch) "nowhere": .*known/);
      }
    const shown = await dead('show', a);
    assert.match(shown.stdout, /owner +tests\n/);
    assert.match(shown.stdout, /call 1 .* 422 refused, by .*no such package/);
  });

  test('are redriven by name, and a repeated order does nothing twice; who is refused is told, with exit code 3', async () => {
    const first = await dead('redrive', a, ...WHY);
    assert.deepEqual([first.code, first.stdout], [0, `${a}: redriven\n1 redriven, 0 not`]);
    await until('it has succeeded', async () => /state +succeeded/.test((await dead('show', a)).stdout));
    const again = await dead('redrive', a, ...WHY, '--json');
    assert.equal(again.code, 3, again.stderr);
    const { failed, items: told } = many.parse(JSON.parse(again.stdout));
    assert.equal(failed, 1);
    assert.match(told[0]?.reason ?? '', /it has succeeded: /);
    assert.equal((await dead('redrive', 'nobody', ...WHY)).code, 5);
  });

  test('are redriven all at once by what they have in common, and never all by oversight', async () => {
    for (const args of [
      ['redrive', ...WHY],
      ['redrive', b, '--lane', 'x', ...WHY],
      ['discard', b],
    ]) {
      const { code, stderr } = await dead(...args);
      assert.equal(code, 2, stderr);
    }
    const discarded = await dead('discard', b, '--by', 'bob', '--reason', 'withdrawn');
    assert.equal(discarded.code, 0, discarded.stderr);
    const resolved = await scene.run('item', c, 'resolve', ...WHY, '--upstream-id', 'up-7');
    assert.equal(resolved.code, 0, resolved.stderr);
    assert.match(resolved.stdout, /is succeeded: up-7, found done by ada at /);
    await until('the list knows', async () => (await listed()).length === 1);
    const redriven = await dead('redrive', '--lane', scene.lane('releases'), '--because', '422', ...WHY);
    assert.deepEqual([redriven.code, redriven.stdout.split('\n').at(-1)], [0, '1 redriven, 0 not']);
    // The batch may have ended while the last one was parked; and learns of it later than who redrove it.
    await until('all are done or given up', async () => {
      const { counts } = await scene.settled('dl');
      return counts.succeeded === 5 && counts.discarded === 1;
    });
    const refused = await scene.run('item', b, 'redrive', ...WHY);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /it was discarded by bob: withdrawn/);
  });
});

const letters = z.array(
  z.object({
    key: z.string(),
    state: z.string(),
    owner: z.string().nullable(),
    reason: z.string(),
    round: z.int(),
  }),
);
const many = z.object({
  failed: z.int(),
  items: z.array(z.object({ key: z.string(), done: z.boolean(), reason: z.string().optional() })),
});
