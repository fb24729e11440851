import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { z } from 'zod';
import { missedWindows } from '../../src/client.ts';
import { type Scene, openScene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';
import { WindowSource } from './support/window-source.ts';

suite('the schedule command, with a worker running,', () => {
  const temporal = useTemporal();
  const source = new WindowSource();
  let scene: Scene;
  before(async () => {
    scene = await openScene({ temporal, sources: { planned: await source.start() } });
    await scene.worker();
  });
  after(async () => {
    await scene?.end();
    source.stop();
  });

  async function run<T>(schema: z.ZodType<T>, ...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await scene.run('schedule', ...args, '--json');
    assert.equal(code, 0, stderr);
    return schema.parse(JSON.parse(stdout));
  }

  function definition(...when: string[]): string[] {
    return ['--lane', scene.lane('releases'), '--source', 'planned', '--overlap', 'allow-all', ...when];
  }

  /** What the upstream did of a window's item. */
  async function effectsOf(start: string): Promise<string[]> {
    return (await scene.upstream.effects()).filter((key) => key === source.keyOf(start));
  }

  test('creates what fires: each window is a batch that goes through the lane; deleted, it is gone', async () => {
    await run(scheduleSchema, 'create', 'fires', ...definition('--every', '1s'));
    await until('two windows were asked for', () => source.asked.length >= 2);
    const deleted = await scene.run('schedule', 'delete', 'fires');
    assert.deepEqual([deleted.code, deleted.stdout], [0, 'schedule fires is deleted'], deleted.stderr);

    const [start = ''] = source.asked;
    const { admissions, counts } = await scene.settledById(`fires:${start}`);
    assert.deepEqual(admissions, [{ position: 0, key: source.keyOf(start), admission: 'accepted' }]);
    assert.equal(counts.succeeded, 1);
    assert.equal((await effectsOf(start)).length, 1);
    assert.equal((await scene.run('schedule', 'delete', 'fires')).code, 5, 'there is none any more');
  });

  test('windows that a pause left out are listed, and a backfill that is asked for twice publishes each once', async () => {
    await run(scheduleSchema, 'create', 'gaps', ...definition('--every', '1s'));
    const because = ['--by', 'ada', '--reason', 'the planner moves'];
    assert.equal((await run(scheduleSchema, 'pause', 'gaps', ...because)).paused, true);
    const { stdout } = await scene.run('schedule', 'list');
    assert.match(
      stdout,
      /^gaps +releases-\w+ +planned +every 1s +allow-all +\S+ +paused +ada: the planner moves$/m,
    );

    await until('three windows are missed', async () => {
      const { windows } = await missedWindows(temporal.client, 'gaps');
      return windows.filter(({ state }) => state === 'missed').length >= 3;
    });
    const { windows } = await run(missedSchema, 'missed', 'gaps');
    const starts = windows.filter(({ state }) => state === 'missed').map(({ start }) => start);
    assert.ok(starts.length >= 3);
    assert.ok(!starts.some((start) => source.asked.includes(start)), 'while it is paused, nobody is asked');

    const first = await run(backfilledSchema, 'backfill', 'gaps');
    const second = await run(backfilledSchema, 'backfill', 'gaps');
    for (const start of starts) {
      const window = first.find((one) => one.start === start);
      assert.deepEqual(window, { start, state: 'published', batchId: `gaps:${start}`, accepted: 1 });
      assert.ok(!second.some((one) => one.start === start), 'it is published already');
      assert.equal(source.asked.filter((asked) => asked === start).length, 1);
      await scene.settledById(`gaps:${start}`);
      assert.equal((await effectsOf(start)).length, 1, start);
    }

    const asked = source.asked.length;
    assert.equal((await run(scheduleSchema, 'resume', 'gaps', ...because)).paused, false);
    await until('it fires again', () => source.asked.length > asked);
  });

  test('what is no schedule, or not said in full, is refused with its reason and exit code', async () => {
    const daily = definition('--cron', '0 2 * * *', '--time-zone', 'Europe/Berlin');
    for (const again of [false, true])
      assert.equal((await run(scheduleSchema, 'create', 'daily', ...daily)).paused, false, String(again));
    for (const [args, code, reason] of [
      [['pause', 'nobody', '--reason', 'any'], 5, /nobody/],
      [['resume', 'daily', '--by', ' ', '--reason', 'any'], 2, /expected who does this and why/],
      [['missed', 'daily', '--since', 'yesterday'], 2, /expected an instant such as/i],
      [['create', 'daily', ...definition('--every', '1h')], 2, /exists with another definition/],
      [['create', 'half', ...definition('--cron', '0 2 * * *')], 2, /either --cron with --time-zone/],
    ] as const) {
      const refused = await scene.run('schedule', ...args);
      assert.deepEqual([refused.code, refused.stdout], [code, ''], refused.stderr);
      assert.match(refused.stderr, reason);
    }
  });
});

const scheduleSchema = z.object({ paused: z.boolean() });
const missedSchema = z.object({ windows: z.array(z.object({ start: z.string(), state: z.string() })) });
const backfilledSchema = z.array(
  z.object({ start: z.string(), state: z.string(), batchId: z.string(), accepted: z.number() }),
);
