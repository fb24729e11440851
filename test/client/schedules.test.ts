import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { after, before, test } from 'node:test';
import {
  type BatchStatus,
  NotFoundError,
  type ScheduleDefinition,
  ScheduleRefusedError,
  backfill,
  batchStatus,
  createSchedule,
  deleteSchedule,
  listSchedules,
  missedWindows,
  pauseSchedule,
  publish,
  resumeSchedule,
  scheduleStatus,
} from '../../src/client.ts';
import { matchingTimes } from '../../src/client/matching-times.ts';
import { firingWorkflowId } from '../../src/domain/ids.ts';
import { instantText } from '../../src/domain/window.ts';
import { laneConfig } from '../support/lane.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { eventually, until } from '../support/wait.ts';

const ACT = { by: 'tests', reason: 'to see' };

let stage: Stage;
/** A source with one item per window, that notes what it was asked for, by path, and answers as it is told to. */
let source: Server;
const asked = new Map<string, string[]>();
const broken = new Set<string>();
before(async () => {
  source = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://source');
    const from = searchParams.get('from') ?? '';
    asked.set(pathname, [...(asked.get(pathname) ?? []), from]);
    if (broken.has(pathname)) return void response.writeHead(404).end();
    const item = { key: `${pathname.slice(1)}:${from}`, payload: { from, to: searchParams.get('to') } };
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify([item]));
  });
  source.listen(0, '127.0.0.1');
  await once(source, 'listening');
  stage = await devServerStage();
  await stage.startDispatch();
  stage.lanes.set('scheduled', laneConfig('scheduled', 'http://127.0.0.1:9'));
});
after(async () => {
  await stage.close();
  source.closeAllConnections();
  source.close();
});

/** Makes a source of the test's own, and a definition that asks it. */
function definitionFor(name: string, changes: Partial<ScheduleDefinition> = {}): ScheduleDefinition {
  const address = source.address();
  assert.ok(typeof address === 'object' && address !== null);
  const url = `http://127.0.0.1:${address.port}/${name}?from={start}&to={end}`;
  stage.sources.set(name, { kind: 'http', url, headers: {}, timeoutMs: 5_000 });
  const when = { kind: 'every', every: '1s' } as const;
  return { lane: 'scheduled', source: name, when, overlap: 'allow-all', catchUp: '10s', ...changes };
}

const inBerlin = (cron: string) => ({ when: { kind: 'cron', cron, timeZone: 'Europe/Berlin' } }) as const;

test('a schedule that fires publishes the window that it closes, under a batch named by its start', async () => {
  const { client } = stage;
  await createSchedule(client, 'fires', definitionFor('fires'));
  const [from = ''] = await eventually('the source is asked', async () => asked.get('/fires'));
  const status = await eventually('the batch is answered', () => answered(`fires:${from}`));
  await deleteSchedule(client, 'fires');
  assert.equal(status.publisher, 'schedule:fires');
  assert.equal(status.admissions[0]?.key, `fires:${from}`);
  await assert.rejects(scheduleStatus(client, 'fires'), NotFoundError);
});

/** Undefined while there is no such batch, or nobody has answered it. */
async function answered(batchId: string): Promise<BatchStatus | undefined> {
  try {
    const status = await batchStatus(stage.client, batchId);
    return status.counts.pending === 0 ? status : undefined;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

test('a schedule paused over three windows, backfilled twice, gives three batches', async () => {
  const { client } = stage;
  await createSchedule(client, 'paused', definitionFor('paused'), { paused: true });
  const since = new Date();
  await until('three windows were missed', async () => {
    const { windows } = await missedWindows(client, 'paused', { since });
    return windows.length >= 3;
  });
  // Windows go on being missed: only the first three are what this is about.
  const before3 = (await missedWindows(client, 'paused', { since })).windows.slice(0, 3);
  assert.ok(before3.every(({ state }) => state === 'missed'));
  assert.equal(asked.get('/paused'), undefined, 'a paused schedule asks nobody');

  const first = await backfill(client, 'paused', { since });
  const second = await backfill(client, 'paused', { since });
  const starts = before3.map(({ start }) => start);
  for (const start of starts) {
    const published = first.find((window) => window.start === start);
    assert.deepEqual(
      { ...published, end: '' },
      {
        start,
        end: '',
        state: 'published',
        batchId: `paused:${start}`,
        items: 1,
        accepted: 1,
        duplicate: 0,
        conflict: 0,
        rejected: 0,
      },
    );
    assert.equal(
      second.some((window) => window.start === start),
      false,
      'published once',
    );
    assert.equal(asked.get('/paused')?.filter((from) => from === start).length, 1);
    assert.equal((await batchStatus(client, `paused:${start}`)).counts.accepted, 1);
  }
  await resumeSchedule(client, 'paused', ACT);
  await until('it fires again', () => (asked.get('/paused')?.length ?? 0) > first.length + second.length);
  await deleteSchedule(client, 'paused');
});

test('two backfills at once publish each window once, and windows adjoin', async () => {
  const { client } = stage;
  await createSchedule(client, 'at-once', definitionFor('at-once', inBerlin('0 * * * *')), { paused: true });
  const since = new Date(Date.now() - 5 * 3_600_000);
  await Promise.all([backfill(client, 'at-once', { since }), backfill(client, 'at-once', { since })]);
  const windows = (asked.get('/at-once') ?? []).toSorted();
  assert.equal(new Set(windows).size, 5);
  assert.equal(windows.length, 5);
  assert.deepEqual((await missedWindows(client, 'at-once', { since })).windows, []);
  // A firing that somebody starts again by hand leaves the source alone and says the same.
  const end = instantText(Date.parse(windows[1] ?? ''));
  const again = await client.workflow.execute('publishWindow', {
    workflowId: firingWorkflowId('at-once', end),
    taskQueue: 'onelane',
    args: [{ lane: 'scheduled', source: 'at-once', timeZone: 'UTC' }],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
  assert.equal(again.batchId, `at-once:${windows[0]}`);
  assert.equal(asked.get('/at-once')?.length, 5);
});

test('a window that is fired, or backfilled, goes before the first tasks of items: it would wait behind thousands', async () => {
  const { client } = stage;
  const priorities = async (prefix: string): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const { workflowId } of client.workflow.list({ query: `WorkflowType = 'publishWindow'` })) {
      if (!workflowId.startsWith(prefix)) continue;
      const { raw } = await client.workflow.getHandle(workflowId).describe();
      found.push(raw.workflowExecutionInfo?.priority?.priorityKey);
    }
    return found;
  };
  await createSchedule(client, 'urgent', definitionFor('urgent'));
  await until('it has fired', async () => (await priorities('schedule/urgent-')).length > 0);
  await deleteSchedule(client, 'urgent');
  const paused = definitionFor('urgent-later', inBerlin('0 * * * *'));
  await createSchedule(client, 'urgent-later', paused, { paused: true });
  await backfill(client, 'urgent-later', { since: new Date(Date.now() - 3 * 3_600_000) });
  await until('it is listed', async () => (await priorities('schedule/urgent-later-')).length === 3);
  assert.deepEqual([...new Set(await priorities('schedule/urgent-'))], [1]);
});

test('a window whose source refused is listed with the reason, and backfilled once the source is mended', async () => {
  const { client } = stage;
  await createSchedule(client, 'refused', definitionFor('refused', inBerlin('0 * * * *')), { paused: true });
  const since = new Date(Date.now() - 3_600_000);
  broken.add('/refused');
  const [failed] = await backfill(client, 'refused', { since });
  assert.ok(failed?.state === 'failed');
  assert.equal(failed.reason, 'source refused: expected status 200 or 204, got 404');
  const [missed] = (await missedWindows(client, 'refused', { since })).windows;
  assert.deepEqual([missed?.state, missed?.reason], ['failed', failed.reason]);
  await assert.rejects(batchStatus(client, `refused:${failed.start}`), NotFoundError);
  broken.delete('/refused');
  const [mended] = await backfill(client, 'refused', { since });
  assert.equal(mended?.state, 'published');

  await createSchedule(
    client,
    'nowhere',
    { ...definitionFor('refused', inBerlin('0 * * * *')), source: 'nobody' },
    { paused: true },
  );
  const [unknown] = await backfill(client, 'nowhere', { since });
  assert.match(
    unknown?.state === 'failed' ? unknown.reason : '',
    /^source: expected one of .*, got "nobody"$/,
  );
  await createSchedule(
    client,
    'no-lane',
    { ...definitionFor('refused', inBerlin('0 * * * *')), lane: 'none' },
    { paused: true },
  );
  const [noLane] = await backfill(client, 'no-lane', { since });
  assert.match(noLane?.state === 'failed' ? noLane.reason : '', /^lane: expected one of .*, got "none"$/);
});

test('a source that answers otherwise for a window that was half published is told apart', async () => {
  const { client } = stage;
  const definition = definitionFor('changed', inBerlin('0 * * * *'));
  await createSchedule(client, 'changed', definition, { paused: true });
  const since = new Date(Date.now() - 3_600_000);
  const [window] = (await missedWindows(client, 'changed', { since })).windows;
  assert.ok(window !== undefined);
  await publish(client, {
    batchId: `changed:${window.start}`,
    lane: 'scheduled',
    items: [{ key: 'changed:other', payload: {} }],
  });
  const [ended] = await backfill(client, 'changed', { since });
  assert.match(ended?.state === 'failed' ? ended.reason : '', /was published with other items/);
});

test('when clocks change, each local time fires once, one that does not exist not at all, and windows adjoin', async () => {
  const { client } = stage;
  const times = async (name: string, cron: string, from: string, to: string) => {
    await createSchedule(client, name, definitionFor(name, inBerlin(cron)), { paused: true });
    const found = await matchingTimes(client, name, Date.parse(from), Date.parse(to));
    return found.map((ms) => instantText(ms).slice(5, 16));
  };
  // On March 29 2026, 02:00 is followed by 03:00; on October 25, 02:00 to 03:00 come twice.
  assert.deepEqual(await times('spring', '30 2 * * *', '2026-03-27T12:00:00Z', '2026-03-31T12:00:00Z'), [
    '03-28T01:30',
    '03-30T00:30',
    '03-31T00:30',
  ]);
  assert.deepEqual(await times('autumn', '30 2 * * *', '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z'), [
    '10-25T01:30',
    '10-26T01:30',
  ]);
  assert.deepEqual(await times('hourly', '0 * * * *', '2026-10-24T23:00:00Z', '2026-10-25T03:00:00Z'), [
    '10-25T00:00',
    '10-25T02:00',
    '10-25T03:00',
  ]);
  await createSchedule(
    client,
    'utc',
    definitionFor('utc', { when: { kind: 'cron', cron: '0 * * * *', timeZone: 'UTC' } }),
    {
      paused: true,
    },
  );
  const utc = await matchingTimes(
    client,
    'utc',
    Date.parse('2026-10-24T23:00:00Z'),
    Date.parse('2026-10-25T03:00:00Z'),
  );
  assert.equal(utc.length, 4);
});

test('creating the same schedule again changes nothing, another of its name is refused, and so is what never fires', async () => {
  const { client } = stage;
  const definition = definitionFor('twice', inBerlin('0 2 * * *'));
  const made = await createSchedule(client, 'twice', definition);
  assert.deepEqual(await createSchedule(client, 'twice', definition), made);
  assert.equal(made.nextAt.length, 3);
  const other = { ...definition, overlap: 'skip' } as const;
  await assert.rejects(createSchedule(client, 'twice', other), /exists with another definition/);
  const bad: readonly [string, ScheduleDefinition, RegExp][] = [
    ['a/b', definition, /schedule: expected 1 to 100 letters/],
    [
      'zone',
      { ...definition, when: { kind: 'cron', cron: '0 2 * * *', timeZone: 'Europe/Nowhere' } },
      /time zone/,
    ],
    ['fields', { ...definition, when: { kind: 'cron', cron: 'banana', timeZone: 'UTC' } }, /5-7 fields/],
    ['bad-none', { ...definition, when: every('0s') }, /when\.every: expected a duration .* got "0s"/],
    ['bad-ages', { ...definition, when: every('10000d') }, /when\.every: .* at most 3650d/],
    ['bad-uneven', { ...definition, when: every('1500ms') }, /every: expected whole seconds/],
    ['bad-late', { ...definition, when: every('1h', '2h') }, /phase cannot be greater/],
    ['bad-part', { ...definition, when: every('1h', '1ms') }, /offset: expected whole seconds/],
    ['bad-short', { ...definition, catchUp: '1s' }, /catchUp: expected at least 10s/],
    ['bad-nowhere', { ...definition, lane: 'a/b' }, /lane: expected the name of a lane/],
    ['never', { ...definition, when: { kind: 'cron', cron: '0 2 30 2 *', timeZone: 'UTC' } }, /never fires/],
  ];
  for (const [name, asks, message] of bad) {
    await assert.rejects(createSchedule(client, name, asks), { name: 'ScheduleRefusedError', message }, name);
    await assert.rejects(scheduleStatus(client, name), NotFoundError);
  }
});

test('a pause says who and why, in the list, too', async () => {
  const { client } = stage;
  await createSchedule(client, 'noted', definitionFor('noted', inBerlin('0 2 * * *')));
  const paused = await pauseSchedule(client, 'noted', ACT);
  assert.deepEqual([paused.paused, paused.note], [true, 'tests: to see']);
  await until('the list has it', async () => {
    const listed = await listSchedules(client);
    return listed.some(({ schedule, note }) => schedule === 'noted' && note === 'tests: to see');
  });
  await assert.rejects(pauseSchedule(client, 'noted', { by: '', reason: 'x' }), ScheduleRefusedError);
  for (const ask of [
    () => pauseSchedule(client, 'nobody', ACT),
    () => deleteSchedule(client, 'nobody'),
    () => missedWindows(client, 'nobody'),
    () => backfill(client, 'nobody'),
  ])
    await assert.rejects(ask(), NotFoundError);
});

test('a firing at a time that is none of its schedule publishes nothing, and says so', async () => {
  const { client } = stage;
  await createSchedule(client, 'manual', definitionFor('manual', inBerlin('0 2 * * *')), { paused: true });
  const failed = client.workflow.execute('publishWindow', {
    workflowId: firingWorkflowId('manual', '2026-08-12T17:11:13Z'),
    taskQueue: 'onelane',
    args: [{ lane: 'scheduled', source: 'manual', timeZone: 'UTC' }],
  });
  await assert.rejects(failed, (error) =>
    messagesOf(error).some((message) => /no time at which/.test(message)),
  );
  assert.equal(asked.get('/manual'), undefined);
});

function every(duration: string, offset?: string): ScheduleDefinition['when'] {
  return { kind: 'every', every: duration, ...(offset === undefined ? {} : { offset }) };
}

/** Of an error and of all that it wraps. */
function messagesOf(error: unknown): string[] {
  return error instanceof Error ? [error.message, ...messagesOf(error.cause)] : [];
}
