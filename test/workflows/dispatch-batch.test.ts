import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Admission, NotFoundError, batchStatus, itemRecord, publish } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { laneConfig } from '../support/lane.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { batchEnd, until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

const NOWHERE = 'http://127.0.0.1:9';

test('the same key twice in a batch is one effect, and the second position a duplicate', async () => {
  await withLane(stage, 'twice', {}, async ({ effectsOf }) => {
    const item = { key: 'twice:a', payload: { name: 'a', size: 1 } };
    const reordered = { payload: { size: 1, name: 'a' }, key: 'twice:a' };
    const { admissions } = await publish(stage.client, {
      batchId: 'twice',
      lane: 'twice',
      items: [item, reordered],
    });
    assert.deepEqual(admissions, [
      { position: 0, key: 'twice:a', admission: 'accepted' },
      { position: 1, key: 'twice:a', admission: 'duplicate', of: 0, state: 'waiting' },
    ]);
    const { counts } = await batchEnd(stage.client, 'twice');
    assert.equal(counts.succeeded, 1);
    assert.equal(counts.duplicate, 1);
    assert.equal(effectsOf('twice:a'), 1);
  });
});

test('another payload under a key of the same batch is a conflict, and is not sent', async () => {
  await withLane(stage, 'clash', {}, async ({ upstream }) => {
    const { admissions } = await publish(stage.client, {
      batchId: 'clash',
      lane: 'clash',
      items: [
        { key: 'clash:a', payload: 1 },
        { key: 'clash:a', payload: 2 },
      ],
    });
    assert.deepEqual(kinds(admissions), ['accepted', 'conflict']);
    await batchEnd(stage.client, 'clash');
    assert.deepEqual(
      upstream.effects().map(({ body }) => body),
      ['1'],
    );
  });
});

test('a later position is compared with who holds the key, not with the first position', async () => {
  await withLane(stage, 'holder', {}, async () => {
    const items = [{ key: 'holder:a', payload: 'original' }];
    await publish(stage.client, { batchId: 'holder-1', lane: 'holder', items });
    await batchEnd(stage.client, 'holder-1');
    const { admissions } = await publish(stage.client, {
      batchId: 'holder-2',
      lane: 'holder',
      items: [
        { key: 'holder:a', payload: 'other' },
        { key: 'holder:a', payload: 'original' },
        { key: 'holder:a', payload: 'other' },
      ],
    });
    assert.deepEqual(kinds(admissions), ['conflict', 'duplicate', 'conflict']);
    const [first, second] = admissions;
    assert(first?.admission === 'conflict');
    assert.equal(first.reason, 'key: taken by another operation, of batch/holder-1');
    assert(second?.admission === 'duplicate');
    assert.equal(second.state, 'succeeded');
  });
});

test('a duplicate of another batch says whose it is and how it stands, and is not waited for', async () => {
  await withLane(stage, 'other', { open: false }, async () => {
    const items = [{ key: 'other:a', payload: {} }];
    await publish(stage.client, { batchId: 'other-1', lane: 'other', items });
    const { admissions } = await publish(stage.client, { batchId: 'other-2', lane: 'other', items });
    assert.deepEqual(admissions, [
      { position: 0, key: 'other:a', admission: 'duplicate', state: 'waiting', batch: 'batch/other-1' },
    ]);
    // Nobody consumes the lane, so its item is still open when the second batch ends.
    const { counts } = await batchEnd(stage.client, 'other-2');
    assert.deepEqual([counts.published, counts.accepted, counts.duplicate, counts.open], [1, 0, 1, 0]);
  });
});

test('a key held by a workflow of another type is a conflict that names the type', async () => {
  stage.lanes.set('foreign', laneConfig('foreign', NOWHERE));
  await stage.client.workflow.start('payrollRun', { workflowId: 'foreign:a', taskQueue: 'payroll' });
  const { admissions } = await publish(stage.client, {
    batchId: 'foreign',
    lane: 'foreign',
    items: [
      { key: 'foreign:a', payload: {} },
      { key: 'foreign:a', payload: {} },
    ],
  });
  assert.deepEqual(kinds(admissions), ['conflict', 'conflict']);
  for (const admission of admissions) {
    assert(admission.admission === 'conflict');
    assert.match(admission.reason, /payrollRun/);
  }
});

test('an invalid item is rejected by field, and the good ones beside it are sent', async () => {
  await withLane(stage, 'mixed', {}, async ({ effectsOf }) => {
    const { admissions } = await publish(stage.client, {
      batchId: 'mixed',
      lane: 'mixed',
      items: [
        { key: 'batch/mine', payload: {} },
        { key: 'mixed:a', payload: {} },
        { key: 'mixed:b', payload: {}, notBefore: 'tomorrow' },
        { key: 'mixed:c', payload: 2 ** 60 },
        { key: 'mixed:d', payload: {}, operation: 'retract' },
        'not an item',
      ],
    });
    assert.deepEqual(kinds(admissions), [
      'rejected',
      'accepted',
      'rejected',
      'rejected',
      'rejected',
      'rejected',
    ]);
    const reasons = admissions.flatMap((admission) =>
      admission.admission === 'rejected' ? [admission.reason] : [],
    );
    assert.match(reasons[0] ?? '', /^key: .*batch\//);
    assert.match(reasons[1] ?? '', /^notBefore: /);
    assert.match(reasons[2] ?? '', /^payload: integer beyond 2\^53/);
    assert.match(reasons[3] ?? '', /^operation: expected one of release, got "retract"/);
    assert.match(reasons[4] ?? '', /^item: /);
    const { counts } = await batchEnd(stage.client, 'mixed');
    assert.deepEqual([counts.published, counts.accepted, counts.rejected, counts.succeeded], [6, 1, 5, 1]);
    assert.equal(effectsOf('mixed:a'), 1);
    await assert.rejects(itemRecord(stage.client, 'mixed:b'), NotFoundError);
  });
});

test('a batch started by hand with plain JSON runs, and tells its progress and admissions', async () => {
  await withLane(stage, 'hand', {}, async ({ effectsOf }) => {
    const batch = { batchId: 'hand', lane: 'hand', items: [{ key: 'hand:a', payload: { by: 'hand' } }] };
    const handle = await stage.client.workflow.start('dispatchBatch', {
      workflowId: 'batch/hand',
      taskQueue: 'onelane',
      args: [batch],
    });
    const admissions = await handle.executeUpdate<Admission[], []>('admissions');
    assert.deepEqual(admissions, [{ position: 0, key: 'hand:a', admission: 'accepted' }]);
    const result: unknown = await handle.result();
    assert.deepEqual(await handle.query('progress'), result);
    assert.equal(effectsOf('hand:a'), 1);
    // Published by our client afterwards, it is the same batch.
    assert.deepEqual((await publish(stage.client, batch)).admissions, admissions);
  });
});

test('an item that is cancelled counts as discarded, and its key stays taken', async () => {
  await withLane(stage, 'ended', { open: false }, async () => {
    const items = [{ key: 'ended:a', payload: {} }];
    await publish(stage.client, { batchId: 'ended', lane: 'ended', items });
    await stage.client.workflow.getHandle('ended:a').cancel();
    const { counts } = await batchEnd(stage.client, 'ended');
    assert.deepEqual([counts.accepted, counts.discarded, counts.open], [1, 1, 0]);
    const again = await publish(stage.client, { batchId: 'ended-2', lane: 'ended', items });
    assert.deepEqual(again.admissions, [
      { position: 0, key: 'ended:a', admission: 'duplicate', state: 'discarded', batch: 'batch/ended' },
    ]);
  });
});

test('a parked item lets its batch end, and one whose batch is gone parks all the same', async () => {
  const refusal: FaultScript[string] = [{ type: 'status', status: 422, body: 'no such package' }];
  const upstream = { faults: { 'parks:a': refusal, 'parks:b': refusal } };
  await withLane(stage, 'parks', { upstream, open: false }, async ({ config }) => {
    await publish(stage.client, { batchId: 'gone', lane: 'parks', items: [{ key: 'parks:b', payload: 2 }] });
    await stage.client.workflow.getHandle('batch/gone').terminate('to see what its item does');
    await publish(stage.client, { batchId: 'parks', lane: 'parks', items: [{ key: 'parks:a', payload: 1 }] });
    stage.openLane(config);

    const { counts, states } = await batchEnd(stage.client, 'parks');
    assert.deepEqual(states, { 'parks:a': 'dead' });
    assert.deepEqual([counts.accepted, counts.dead, counts.open], [1, 1, 0]);
    await until(
      'parks:b is parked',
      async () => (await itemRecord(stage.client, 'parks:b')).state === 'dead',
    );
    const { status } = await stage.client.workflow.getHandle('parks:b').describe();
    assert.equal(status.name, 'RUNNING');
    assert.equal((await batchStatus(stage.client, 'gone')).counts.dead, 1);
  });
});

function kinds(admissions: readonly Admission[]): string[] {
  return admissions.map(({ admission }) => admission);
}
