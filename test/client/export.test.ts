import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ExportLine, type OperationRecord, exportRecords, publish } from '../../src/client.ts';
import { MarkRefusedError, NotFoundError } from '../../src/client/errors.ts';
import { operateItem } from '../../src/client/operate-item.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { ONELANE_LANE } from '../../src/workflows/visibility.ts';
import { recordOnce } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { batchEnd, eventually, until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

interface Exported {
  readonly records: OperationRecord[];
  readonly mark: string;
}

async function exported(options: Parameters<typeof exportRecords>[1] = {}): Promise<Exported> {
  const lines: ExportLine[] = [];
  for await (const line of exportRecords(stage.client, options)) lines.push(line);
  const last = lines.pop();
  assert.ok(last && 'mark' in last, 'the last line is the mark');
  const records = lines.flatMap((line) => ('mark' in line ? [] : [line]));
  assert.equal(records.length, lines.length, 'no other line is one');
  return { records, mark: last.mark };
}

test('while items move, exports one after the other tell of each exactly once, in the end of all', async () => {
  const keys = Array.from({ length: 120 }, (_, n) => `moving:${n}`);
  const refused = keys.filter((_, n) => n % 7 === 3);
  const faults: FaultScript = Object.fromEntries(
    refused.map((key) => [key, [{ type: 'status', status: 422 }]]),
  );
  const lane = { limit: { requests: 500, perMs: 20, burst: 500, arrivalWithinMs: null } };
  await withLane(stage, 'moving', { upstream: { faults }, lane }, async () => {
    await publishInBatches(keys.slice(0, 10));
    const publishing = publishRest(keys.slice(10));
    const told: string[] = [];
    let mark: string | null = null;
    let exports = 0;
    await until('all are told of', async () => {
      const { records, mark: next } = await exported({ since: mark, lane: 'moving' });
      mark = next;
      exports++;
      for (const { key, state } of records) {
        const expected = refused.includes(key) ? 'dead' : key === keys.at(-1) ? 'terminated' : 'succeeded';
        assert.equal(state, expected, key);
        told.push(key);
      }
      assert.equal(new Set(told).size, told.length, 'none is told of twice');
      return told.length === keys.length;
    });
    await publishing;
    assert.ok(exports > 3, `${exports} exports ran while items moved`);
    assert.deepEqual(told.toSorted(), keys.toSorted());
    assert.deepEqual((await exported({ since: mark, lane: 'moving' })).records, [], 'nothing is left');
    const all = await exported({ lane: 'moving' });
    assert.equal(all.records.length, keys.length, 'from the beginning, all are told again');
  });
});

/** A batch of ten after the other. */
async function publishInBatches(keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += 10) {
    const items = keys.slice(from, from + 10).map((key) => ({ key, payload: { key } }));
    await publish(stage.client, { batchId: items[0]?.key ?? '', lane: 'moving', items });
  }
}

/** The last one is terminated before it is sent. */
async function publishRest(keys: readonly string[]): Promise<void> {
  await publishInBatches(keys.slice(0, -1));
  const last = keys.at(-1) ?? '';
  const item = { key: last, payload: { key: last }, notBefore: '2999-01-01T00:00:00Z' };
  await publish(stage.client, { batchId: last, lane: 'moving', items: [item] });
  await stage.client.workflow.getHandle(last).terminate('tidying up');
}

test('a record tells whose the item was, what became of it and when', async () => {
  const faults: FaultScript = { 'told:b': [{ type: 'status', status: 422, body: 'no such package' }] };
  await withLane(stage, 'told', { upstream: { faults } }, async ({ upstream }) => {
    const items = ['a', 'b'].map((name) => ({ key: `told:${name}`, payload: { name }, version: 7 }));
    await publish(stage.client, { batchId: 'told', lane: 'told', publisher: 'ci', items });
    await batchEnd(stage.client, 'told');
    const { records } = await exported({ lane: 'told' });
    const [succeeded, dead] = records.toSorted((a, b) => a.position - b.position);
    assert.ok(succeeded && dead);
    const { receipt, fingerprint, attempts, admittedAt, restedAt, endedAt, ...plain } = succeeded;
    assert.deepEqual(plain, {
      key: 'told:a',
      lane: 'told',
      partition: null,
      batchId: 'told',
      position: 0,
      publisher: 'ci',
      version: 7,
      state: 'succeeded',
      round: 0,
      reason: null,
      by: null,
    });
    assert.equal(receipt?.upstreamId, upstream.effects()[0]?.id);
    assert.match(fingerprint, /^[0-9a-f]{64}$/);
    assert.equal(attempts.succeeded, 1);
    assert.ok(endedAt !== null && admittedAt < endedAt && restedAt === endedAt);
    assert.deepEqual([dead.state, dead.endedAt, dead.attempts.refused], ['dead', null, 1]);
    assert.match(dead.reason ?? '', /^422 refused/);
    assert.ok(dead.restedAt !== null && dead.restedAt > dead.admittedAt);
  });
});

test('an item that was redriven is told of again, with its round, when it has come to rest again', async () => {
  const faults: FaultScript = { 'again:a': [{ type: 'status', status: 422 }] };
  await withLane(stage, 'again', { upstream: { faults } }, async () => {
    const items = [{ key: 'again:a', payload: {} }];
    await publish(stage.client, { batchId: 'again', lane: 'again', items });
    await recordOnce(stage, 'again:a', ({ state }) => state === 'dead');
    let mark: string | null = null;
    const next = async () => {
      const told = await exported({ since: mark, lane: 'again' });
      ({ mark } = told);
      return told.records.map(({ state, round }) => [state, round]);
    };
    assert.deepEqual(await untilTold(next), [['dead', 0]]);
    await operateItem.redrive(stage.client, 'again:a', { by: 'ada', reason: 'mended' });
    assert.deepEqual(await untilTold(next), [['succeeded', 1]]);
    assert.deepEqual(await next(), []);
  });
});

/** The first export that tells of anything. */
async function untilTold<T>(next: () => Promise<T[]>): Promise<T[]> {
  return await eventually('something is told', async () => {
    const told = await next();
    return told.length > 0 ? told : undefined;
  });
}

test('a partitioned lane is exported whole by its name, and one partition by its full name', async () => {
  const partitionBy = { field: 'partition', names: null };
  await withLane(stage, 'split', { open: false, lane: { policy: { partitionBy } } }, async () => {
    const items = ['acme', 'bolt'].map((partition) => ({
      key: `split:${partition}`,
      payload: {},
      partition,
    }));
    await publish(stage.client, { batchId: 'split', lane: 'split', items });
    for (const { key } of items) await stage.client.workflow.getHandle(key).terminate('tidying up');
    assert.deepEqual(await exportedKeys('split'), ['split:acme', 'split:bolt']);
    assert.deepEqual(await exportedKeys('split/bolt'), ['split:bolt']);
  });
});

async function exportedKeys(lane: string): Promise<string[]> {
  const { records } = await exported({ lane });
  return records.map(({ key }) => key).toSorted();
}

test('with --open, items under way are told of as they are, without a time of rest, and move no mark', async () => {
  await withLane(stage, 'under-way', { open: false }, async () => {
    await assert.rejects(exported({ lane: 'under-way' }), NotFoundError, 'nothing is known of the lane yet');
    const items = [{ key: 'under-way:a', payload: {} }];
    await publish(stage.client, { batchId: 'under-way', lane: 'under-way', items });
    await recordOnce(stage, 'under-way:a', ({ nextEligibleAt }) => nextEligibleAt !== null);
    const closed = await exported({ lane: 'under-way' });
    assert.deepEqual(closed.records, []);
    const open = await exported({ lane: 'under-way', open: true });
    assert.equal(open.mark, closed.mark);
    assert.deepEqual(
      open.records.map(({ key, state, restedAt, endedAt }) => [key, state, restedAt, endedAt]),
      [['under-way:a', 'waiting', null, null]],
    );
  });
});

test('a workflow that is no item, whoever started it, is left out with a warning and keeps no other from being told', async () => {
  await withLane(stage, 'by-hand', {}, async () => {
    await publish(stage.client, {
      batchId: 'by-hand',
      lane: 'by-hand',
      items: [{ key: 'by-hand:a', payload: {} }],
    });
    await batchEnd(stage.client, 'by-hand');
    const stray = await stage.client.workflow.start('deliverItem', {
      workflowId: 'stray',
      taskQueue: 'nobody',
      args: ['no delivery'],
      typedSearchAttributes: [{ key: ONELANE_LANE, value: 'by-hand' }],
    });
    await stray.terminate();
    const warnings: string[] = [];
    await until('both are listed', async () => {
      warnings.length = 0;
      const { records } = await exported({
        lane: 'by-hand',
        warn: (sentence) => void warnings.push(sentence),
      });
      assert.ok(records.every(({ key }) => key === 'by-hand:a'));
      return records.length + warnings.length === 2;
    });
    assert.match(warnings[0] ?? '', /^left out: item "stray": its input is no delivery/);
  });
});

test('a mark of another export is refused before anything is told', async () => {
  const { mark } = await exported();
  await assert.rejects(exported({ since: mark, lane: 'told' }), MarkRefusedError);
  await assert.rejects(exported({ since: mark.slice(0, -1) }), MarkRefusedError);
});
