import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type DevServer, startDevServer } from '../../src/dev/temporal/dev-server.ts';
import {
  BatchRefusedError,
  NotFoundError,
  type Onelane,
  ScheduleRefusedError,
  connect,
} from '../../src/library/index.ts';
import { type FunctionLane, type OnelaneWorker, startWorker, succeeded } from '../../src/library/worker.ts';

const lane: FunctionLane = {
  owner: 'tests',
  upstream: {
    operations: { release: () => Promise.resolve(succeeded()) },
    timeout: '1s',
    idempotency: 'none',
  },
  limit: { requests: 50, per: '1s' },
  lease: '4s',
  retry: { budget: 3 },
  deadline: 'none',
};
const ACT = { by: 'ada', reason: 'a test' };

let server: DevServer;
let worker: OnelaneWorker;
let onelane: Onelane;
before(async () => {
  server = await startDevServer();
  const { address } = server;
  worker = await startWorker({ address, lanes: { releases: lane }, say: () => undefined });
  onelane = await connect({ address });
});
after(async () => {
  await onelane?.close();
  await worker?.stop();
  await server?.stop();
});

test('a batch is paused, resumed and discarded; each says what came of its items, and asked again does it once', async () => {
  const notBefore = '2999-01-01T00:00:00Z';
  const items = ['a', 'b', 'c'].map((n) => ({ key: `left:${n}`, payload: n, notBefore }));
  await onelane.publish({ batchId: 'left', lane: 'releases', items });
  const { batch } = onelane.operate;
  const none = { done: 0, ended: 0, refused: 0, unanswered: 0, pending: 0 };
  const allDone = { batchId: 'left', counts: { ...none, done: 3 }, notDone: [] };

  assert.deepEqual(await batch.pause('left', ACT), allDone);
  assert.deepEqual(await batch.pause('left', ACT), allDone);
  assert.deepEqual((await onelane.report('left')).held, ACT);
  assert.deepEqual(await batch.resume('left', ACT), allDone);
  assert.equal((await onelane.report('left')).held, null);
  assert.deepEqual(
    (await onelane.item('left:a')).orders.map(({ kind, by }) => `${kind} ${by}`),
    ['hold ada', 'release ada'],
  );
  assert.deepEqual(await batch.discard('left', ACT), allDone);
  assert.deepEqual(await batch.discard('left', ACT), { ...allDone, counts: none }, 'nothing is left of it');
  const { counts, addsUp } = await onelane.report('left');
  assert.deepEqual([counts.discarded, addsUp], [3, true]);

  await assert.rejects(batch.pause('nobody', ACT), NotFoundError);
  await assert.rejects(batch.pause('left', { by: ' ', reason: 'any' }), BatchRefusedError);
});

test('a schedule is created, paused, resumed and deleted, and its missed windows are listed', async () => {
  const { schedules } = onelane;
  const when = { kind: 'cron', cron: '0 * * * *', timeZone: 'UTC' } as const;
  const definition = { lane: 'releases', source: 'none', when, overlap: 'skip', catchUp: '10m' } as const;
  const created = await schedules.create('hourly', definition, { paused: true });
  assert.equal(created.paused, true);
  assert.equal((await schedules.resume('hourly', ACT)).paused, false);
  const paused = await schedules.pause('hourly', ACT);
  assert.deepEqual([paused.paused, paused.note], [true, 'ada: a test']);
  assert.deepEqual(await schedules.status('hourly'), paused);

  const since = new Date(Date.now() - 2 * 3_600_000);
  const { windows } = await schedules.missed('hourly', { since });
  assert.ok(windows.length >= 2 && windows.every(({ state }) => state === 'missed'));
  // There is no such source.
  const backfilled = await schedules.backfill('hourly', { since });
  for (const { start } of windows) {
    const failed = backfilled.find((window) => window.start === start);
    assert.match(failed?.state === 'failed' ? failed.reason : '', /^source: expected one of .*, got "none"$/);
  }
  await schedules.delete('hourly');
  await assert.rejects(schedules.status('hourly'), NotFoundError);
  await assert.rejects(schedules.create('a/b', definition), ScheduleRefusedError);
});
