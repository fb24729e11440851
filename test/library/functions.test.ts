import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import type {
  FunctionLane,
  UpstreamAnswer,
  UpstreamCall,
  UpstreamLookup,
} from '../../src/library/testing.ts';
import {
  laneFault,
  refused,
  startTestStage,
  succeeded,
  type TestStage,
  throttled,
  unavailable,
} from '../../src/library/testing.ts';
import { until } from '../support/wait.ts';

const TIMEOUT_MS = 1_000;

/** What each key's next calls are answered with; `{ id }` of its key once they are used up. */
const scripts = new Map<string, (() => Promise<UpstreamAnswer>)[]>();
const calls: UpstreamCall[] = [];

const done = new Set<string>();
const lookup: UpstreamLookup = ({ key }) => {
  if (key.endsWith('mute')) throw new Error('nobody knows');
  return Promise.resolve(done.has(key) ? { id: `found-${key}` } : null);
};

const answering: FunctionLane = {
  owner: 'tests',
  upstream: {
    operations: {
      release: async (call) => {
        calls.push(call);
        const scripted = scripts.get(call.key)?.shift();
        return scripted === undefined ? succeeded({ id: `done-${call.key}` }) : await scripted();
      },
    },
    timeout: `${TIMEOUT_MS}ms`,
    idempotency: { window: '24h' },
  },
  limit: { requests: 50, per: '50ms' },
  retry: { budget: 3, initial: '10ms', max: '20ms' },
  deadline: 'none',
};

let stage: TestStage;
before(async () => {
  stage = await startTestStage({
    lanes: {
      answering,
      // Takes no keys, and can be asked: what it says it has done is in `done`.
      asked: {
        ...answering,
        upstream: { ...answering.upstream, idempotency: 'none', lookup },
      },
      // For tests that leave a lane closed or paused behind.
      throttling: answering,
      faulty: answering,
      unkeyed: { ...answering, upstream: { ...answering.upstream, idempotency: 'none' } },
      tenants: {
        ...answering,
        partitionBy: { field: 'payload.tenant', independence: 'these are functions' },
        key: '{partition}:{payload.n}',
      },
    },
  });
});
after(() => stage.close());

async function publishOne(lane: string, key: string, payload: unknown = { n: 1 }): Promise<void> {
  const { admissions } = await stage.onelane.publish({ batchId: key, lane, items: [{ key, payload }] });
  assert.deepEqual(admissions, [{ position: 0, key, admission: 'accepted' }]);
}

/** Answers each call of the key in turn, publishes it, and waits until it has come to rest. */
async function ended(lane: string, key: string, script: (() => Promise<UpstreamAnswer>)[]) {
  scripts.set(key, script);
  await publishOne(lane, key);
  return await stage.onelane.waitForItem(key, { withinMs: 30_000 });
}

const answer = (given: UpstreamAnswer) => () => Promise.resolve(given);
const callsOf = (key: string) => calls.filter((call) => call.key === key);

test('a function gets the item, and what it answers is the receipt', async () => {
  const { admissions } = await stage.onelane.publish({
    batchId: 'whole',
    lane: 'answering',
    items: [{ key: 'whole', payload: { n: [1, 'é'] }, correlationId: 'c-1' }],
  });
  assert.equal(admissions[0]?.admission, 'accepted');
  const { state, receipt } = await stage.onelane.waitForItem('whole', { withinMs: 30_000 });
  assert.equal(state, 'succeeded');
  assert.equal(receipt?.upstreamId, 'done-whole');
  const [call] = callsOf('whole');
  assert.ok(call !== undefined);
  const { signal: _signal, ...told } = call;
  assert.deepEqual(told, {
    key: 'whole',
    operation: 'release',
    payload: { n: [1, 'é'] },
    partition: null,
    correlationId: 'c-1',
    attempt: 1,
  });
});

test('a function that throws has perhaps done it, and is called again under the same key', async () => {
  const record = await ended('answering', 'throws', [() => Promise.reject(new TypeError('secret-xyz'))]);
  assert.equal(record.state, 'succeeded');
  assert.equal(record.attempts.ambiguous, 1);
  assert.equal(callsOf('throws').length, 2);
  assert.ok(!JSON.stringify(record).includes('secret-xyz'), 'what an error says is not stored');
  assert.ok(stage.said.some((line) => line.includes('secret-xyz')));
});

test('a function that throws where keys are not taken is never called again', async () => {
  const record = await ended('unkeyed', 'throws-unkeyed', [() => Promise.reject(new Error('who knows'))]);
  assert.equal(record.state, 'uncertain');
  assert.equal(callsOf('throws-unkeyed').length, 1);
});

/** Throws, having done it or not. */
function lost(key: string, isDone: boolean): () => Promise<UpstreamAnswer> {
  return () => {
    if (isDone) done.add(key);
    return Promise.reject(new Error('the answer is lost'));
  };
}

test('a function that threw is asked whether it was done, where it can say so', async () => {
  const applied = await ended('asked', 'applied', [lost('applied', true)]);
  assert.deepEqual([applied.state, applied.receipt?.foundBy], ['succeeded', 'lookup']);
  assert.equal(applied.receipt?.upstreamId, 'found-applied');
  assert.equal(callsOf('applied').length, 1);
  const absent = await ended('asked', 'absent', [lost('absent', false)]);
  assert.deepEqual([absent.state, callsOf('absent').length], ['succeeded', 2]);
  const mute = await ended('asked', 'mute', [lost('mute', true)]);
  assert.deepEqual([mute.state, callsOf('mute').length], ['uncertain', 1]);
});

test('a function whose time is over is told so, and has perhaps done it', async () => {
  const late = async (): Promise<UpstreamAnswer> => {
    const signal = callsOf('late').at(-1)?.signal;
    await sleep(20 * TIMEOUT_MS, undefined, signal === undefined ? {} : { signal });
    return succeeded();
  };
  const record = await ended('answering', 'late', [late]);
  assert.equal(record.attempts.ambiguous, 1);
  assert.equal(callsOf('late')[0]?.signal.aborted, true);
});

test('what is no answer proves nothing: it counts as ambiguous', async () => {
  const record = await ended('answering', 'nonsense', [answer({ status: 7 })]);
  assert.equal(record.attempts.ambiguous, 1);
});

test('a status alone is an answer', async () => {
  const record = await ended('answering', 'status-alone', [answer({ status: 201 })]);
  assert.deepEqual(
    [record.state, record.receipt?.status, callsOf('status-alone').length],
    ['succeeded', 201, 1],
  );
});

test('each way to answer has its verdict', async () => {
  const away = await ended('answering', 'away', [answer(unavailable('the database is down'))]);
  assert.equal(away.attempts.unavailable, 1);
  assert.equal(away.state, 'succeeded');
  const never = await ended('answering', 'never', [answer(refused('no such package'))]);
  assert.equal(never.state, 'dead');
  assert.match(never.reason ?? '', /422 refused/);
  const replay = await ended('answering', 'replay', [answer(succeeded({ id: 'first', replayed: true }))]);
  assert.deepEqual([replay.receipt?.upstreamId, replay.receipt?.replayed], ['first', true]);
});

test('a throttled lane waits as long as it is told to, and time passes without waiting', async () => {
  scripts.set('slow', [answer(throttled({ afterMs: 3_600_000 }))]);
  await publishOne('throttling', 'slow');
  await untilSaid('lane throttling is closed');
  const closedAt = stage.now().getTime();
  await publishOne('throttling', 'behind');
  await stage.pass('1h');
  const record = await stage.onelane.waitForItem('behind', { withinMs: 30_000 });
  assert.equal(record.state, 'succeeded');
  assert.ok(Date.parse(record.receipt?.at ?? '') >= closedAt + 3_590_000, record.receipt?.at);
});

test('a lane that can do nothing for any item pauses itself', async () => {
  scripts.set('locked', [answer(laneFault('the token has expired'))]);
  await publishOne('faulty', 'locked');
  await untilSaid('lane faulty has paused itself');
});

test('each partition of a lane is consumed, and its functions know which they work for', async () => {
  const tenants = ['acme', 'zeta'];
  await stage.onelane.publish({
    batchId: 'tenants',
    lane: 'tenants',
    items: tenants.map((tenant) => ({ payload: { tenant, n: 1 } })),
  });
  const { counts } = await stage.onelane.wait('tenants', { withinMs: 30_000 });
  assert.equal(counts.succeeded, 2);
  assert.deepEqual(
    tenants.map((tenant) => callsOf(`${tenant}:1`)[0]?.partition),
    tenants,
  );
});

test('a batch of any length is published page by page, and waited for on all of them', async () => {
  // Five of them are more than a page may hold.
  const text = 'x'.repeat(250 * 1024);
  const items = Array.from({ length: 5 }, (_, n) => ({ key: `long:${n}`, payload: { n, text } }));
  const answered: number[] = [];
  for await (const { page, admissions } of stage.onelane.publishPages({
    batchId: 'long',
    lane: 'answering',
    items,
  })) {
    assert.ok(admissions.every(({ admission }) => admission === 'accepted'));
    answered.push(page);
  }
  assert.deepEqual(answered, [0, 1]);
  const report = await stage.onelane.wait('long', { withinMs: 60_000 });
  assert.equal(report.counts.succeeded, 5);
  assert.ok(report.addsUp);
});

// The last one: once an item was told something while it was open, the test server skips no time any more.
test('a parked item that is redriven is called again under its key', async () => {
  const { state } = await ended('answering', 'parked', [answer(refused('no such package'))]);
  assert.equal(state, 'dead');
  const act = { by: 'tests', reason: 'there is such a package now' };
  await stage.onelane.operate.item.redrive('parked', act);
  const record = await stage.onelane.waitForItem('parked', { withinMs: 30_000 });
  assert.deepEqual([record.state, callsOf('parked').length], ['succeeded', 2]);
});

async function untilSaid(beginning: string): Promise<void> {
  await until(`a consumer says: ${beginning}`, () => stage.said.some((line) => line.startsWith(beginning)));
}
