import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type Batch,
  type BatchReport,
  NotFoundError,
  batchReport,
  batchStatus,
  publish,
} from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { batchEnd, until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

const FAULTS: FaultScript = { 'told:dead': [{ type: 'status', status: 422, body: 'no such package' }] };

/** Every kind of admission, and every end that an item can come to by itself or from outside. */
const BATCH: Batch = {
  batchId: 'told',
  lane: 'told',
  publisher: 'ci',
  items: [
    { key: 'told:done', payload: 1 },
    { key: 'told:dead', payload: 2 },
    { key: 'told:ended', payload: 3, notBefore: '2999-01-01T00:00:00Z' },
    { key: 'told:done', payload: 1 },
    { key: 'told:done', payload: 'other' },
    { key: 'told:before', payload: 4 },
    'broken',
    { key: 'told:open', payload: 5, notBefore: '2999-01-01T00:00:00Z' },
  ],
};

test('a report accounts for every position, and is the same once nothing moves, with no worker or batch workflow', async () => {
  await withLane(stage, 'told', { upstream: { faults: FAULTS } }, async () => {
    await publish(stage.client, { batchId: 'before', lane: 'told', items: [BATCH.items[5]] });
    await batchEnd(stage.client, 'before');
    await publish(stage.client, BATCH);
    await stage.client.workflow.getHandle('told:ended').terminate('tidying up');
    await until(
      'all but one are at rest',
      async () => (await batchStatus(stage.client, 'told')).counts.open === 1,
    );

    const report = await batchReport(stage.client, 'told');
    assert.deepEqual(report.faults, []);
    assert.deepEqual(rowsOf(report), [
      '0 told:done accepted succeeded 201',
      '1 told:dead accepted dead: 422 refused',
      '2 told:ended accepted terminated',
      '3 told:done duplicate succeeded 201: stands at position 0',
      '4 told:done conflict: key: taken by another operation',
      '5 told:before duplicate succeeded 201: brought by batch/before',
      '6 rejected: item: Invalid input: expected object, received string',
      '7 told:open accepted waiting',
    ]);
    const { counts, extent, owner, publisher, held, drainsInMs } = report;
    assert.deepEqual(counts, {
      published: 8,
      accepted: 4,
      duplicate: 2,
      conflict: 1,
      rejected: 1,
      pending: 0,
      absent: 0,
      succeeded: 1,
      parked: 1,
      discarded: 0,
      terminated: 1,
      open: 1,
    });
    assert.deepEqual(extent, { pages: 1, arrived: 1, absentPages: [], total: 8 });
    assert.deepEqual([owner, publisher, held], ['release-engineering', 'ci', null]);
    // Nobody holds the lane.
    assert.equal(drainsInMs, null);

    await stage.stopDispatch();
    assert.deepEqual(await batchReport(stage.client, 'told'), report);
    await stage.client.workflow.getHandle('batch/told').terminate('its items go on without it');
    assert.deepEqual(await batchReport(stage.client, 'told'), report);
    await stage.startDispatch();
  });
});

test('what has ended stays in the report though Temporal has forgotten the item', async () => {
  await withLane(stage, 'forgotten', {}, async () => {
    const items = [{ key: 'forgotten:a', payload: 1 }];
    await publish(stage.client, { batchId: 'forgotten', lane: 'forgotten', items });
    await batchEnd(stage.client, 'forgotten');
    const report = await batchReport(stage.client, 'forgotten');
    assert.equal(report.rows[0]?.receipt?.status, 201);
    await forget('forgotten:a');
    assert.deepEqual(await batchReport(stage.client, 'forgotten'), report);
  });
});

test('pages are accounted for together, and those that never arrived are named, with their items', async () => {
  await withLane(stage, 'paged', {}, async () => {
    await publish(stage.client, pageOf(0));
    await publish(stage.client, pageOf(2));
    const early = await batchReport(stage.client, 'paged');
    assert.deepEqual(early.extent, { pages: null, arrived: 2, absentPages: [1], total: null });
    await publish(stage.client, pageOf(4, { pages: 5, total: 10 }));

    const report = await batchReport(stage.client, 'paged');
    assert.deepEqual(report.faults, []);
    assert.deepEqual(report.extent, { pages: 5, arrived: 3, absentPages: [1, 3], total: 10 });
    assert.deepEqual(
      report.rows.map((row) => `${row.page}/${row.position} ${row.admission}`),
      ['0/0 accepted', '0/1 rejected', '2/0 accepted', '2/1 rejected', '4/0 accepted', '4/1 rejected'],
    );
    const { published, accepted, rejected, absent } = report.counts;
    assert.deepEqual(
      { published, accepted, rejected, absent },
      { published: 10, accepted: 3, rejected: 3, absent: 4 },
    );
  });
});

test('what nobody has answered yet is pending, and not absent', async () => {
  await stage.stopDispatch();
  const items = [{ key: 'asleep:a', payload: 1 }, 'broken'];
  await publish(stage.client, { batchId: 'asleep', lane: 'asleep', items }, { waitMs: 200 });
  const { counts, addsUp, owner } = await batchReport(stage.client, 'asleep');
  assert.deepEqual([counts.published, counts.pending, counts.absent], [2, 2, 0]);
  assert.deepEqual([addsUp, owner], [true, null]);
  await stage.startDispatch();
});

test('a batch of which no page has arrived is not found', async () => {
  await assert.rejects(batchReport(stage.client, 'nothing'), NotFoundError);
});

function pageOf(page: number, told: Pick<Batch, 'pages' | 'total'> = {}): Batch {
  const items = [{ key: `paged:${page}`, payload: page }, 'broken'];
  return { batchId: 'paged', lane: 'paged', page, items, ...told };
}

function rowsOf({ rows }: BatchReport): string[] {
  return rows.map(({ position, key, admission, state, receipt, reason }) => {
    const standing = [position, key, admission, state, receipt?.status].filter(
      (part) => part !== null && part !== undefined,
    );
    return `${standing.join(' ')}${reason === null ? '' : `: ${reason}`}`;
  });
}

/** As its retention would. */
async function forget(key: string): Promise<void> {
  const { workflowService, options } = stage.client;
  await workflowService.deleteWorkflowExecution({
    namespace: options.namespace,
    workflowExecution: { workflowId: key },
  });
  await until(`${key} is forgotten`, async () => {
    try {
      await stage.client.workflow.getHandle(key).describe();
      return false;
    } catch {
      return true;
    }
  });
}
