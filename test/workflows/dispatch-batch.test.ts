import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  type Admission,
  BatchIdTakenError,
  BatchRefusedError,
  NotFoundError,
  batchStatus,
  itemRecord,
  publish,
} from '../../src/client.ts';
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

test('a batch for an unknown lane is refused whole; published again once the lane exists, it is sent', async () => {
  const batch = { batchId: 'early', lane: 'early', items: [{ key: 'early:a', payload: {} }] };
  await assert.rejects(publish(stage.client, batch), (error: unknown) => {
    assert(error instanceof BatchRefusedError);
    assert.match(error.message, /^lane: expected one of .*, got "early"$/);
    return true;
  });
  await assert.rejects(itemRecord(stage.client, 'early:a'), NotFoundError);
  await withLane(stage, 'early', {}, async ({ effectsOf }) => {
    const { admissions } = await publish(stage.client, batch);
    assert.deepEqual(kinds(admissions), ['accepted']);
    await batchEnd(stage.client, 'early');
    assert.equal(effectsOf('early:a'), 1);
  });
});

const REFUSED_WHOLE: {
  title: string;
  batch: { batchId: string; lane: string; items: unknown[] };
  says: RegExp;
}[] = [
  {
    title: 'an empty batch',
    batch: { batchId: 'empty', lane: 'known', items: [] },
    says: /^items: expected at least one item/,
  },
  {
    title: 'a batch of 501 items',
    batch: {
      batchId: 'crowd',
      lane: 'known',
      items: Array.from({ length: 501 }, (_, n) => ({ key: `crowd:${n}`, payload: n })),
    },
    says: /^items: expected at most 500 items/,
  },
  {
    title: 'a batch of more than 1 MiB',
    batch: {
      batchId: 'heavy',
      lane: 'known',
      items: Array.from({ length: 5 }, (_, n) => ({ key: `heavy:${n}`, payload: 'x'.repeat(250_000) })),
    },
    says: /^items: expected at most 1048576 bytes/,
  },
  {
    title: 'a batchId with a slash',
    batch: { batchId: 'a/1', lane: 'known', items: [{ key: 'slash:0', payload: 0 }] },
    says: /^batchId: may not contain "\/"/,
  },
];

for (const { title, batch, says } of REFUSED_WHOLE) {
  test(`${title} is refused whole, by the client as by the workflow, and nothing is started`, async () => {
    stage.lanes.set('known', laneConfig('known', NOWHERE));
    await assert.rejects(publish(stage.client, batch), (error: unknown) => {
      assert(error instanceof BatchRefusedError);
      assert.match(error.message, says);
      return true;
    });
    await assert.rejects(batchStatus(stage.client, batch.batchId), NotFoundError);

    await assertRefusal(runByHand(`batch/${batch.batchId}`, batch), says);
    const [first] = batch.items;
    if (typeof first === 'object' && first !== null && 'key' in first)
      await assert.rejects(itemRecord(stage.client, String(first.key)), NotFoundError);
  });
}

test('a batch started under a workflow ID that is not its own is refused whole', async () => {
  const batch = { batchId: 'named', lane: 'known', items: [{ key: 'named:a', payload: {} }] };
  stage.lanes.set('known', laneConfig('known', NOWHERE));
  await assertRefusal(
    runByHand('batch/misnamed', batch),
    /^workflow ID: expected "batch\/named", got "batch\/misnamed"$/,
  );
  await assert.rejects(itemRecord(stage.client, 'named:a'), NotFoundError);
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

test('a batch published again gives the same admissions, open and closed; other content is refused', async () => {
  await withLane(stage, 'again', { open: false }, async ({ config, effectsOf }) => {
    const batch = {
      batchId: 'again',
      lane: 'again',
      items: [
        { key: 'again:a', payload: { n: 1 } },
        { key: 'again:a', payload: { n: 1 } },
        { key: 'again:a', payload: { n: 2 } },
        { key: '', payload: { n: 3 } },
      ],
    };
    const other = { ...batch, items: batch.items.slice(0, 1) };
    const first = await publish(stage.client, batch);
    assert.deepEqual(kinds(first.admissions), ['accepted', 'duplicate', 'conflict', 'rejected']);

    assert.deepEqual(await publish(stage.client, { ...batch, publisher: 'somebody else' }), first);
    await assert.rejects(publish(stage.client, other), BatchIdTakenError);

    await stage.stopDispatch();
    await assert.rejects(publish(stage.client, other, { waitMs: 500 }), BatchIdTakenError);
    await stage.startDispatch();

    stage.openLane(config);
    await batchEnd(stage.client, 'again');
    assert.deepEqual(await publish(stage.client, batch), first);
    await assert.rejects(publish(stage.client, other), BatchIdTakenError);
    assert.equal(effectsOf('again:a'), 1);
  });
});

test('published with no worker running, a batch is durable and pending; then it is accepted and sent', async () => {
  await withLane(stage, 'asleep', {}, async ({ effectsOf }) => {
    const batch = { batchId: 'asleep', lane: 'asleep', items: [{ key: 'asleep:a', payload: {} }, 'broken'] };
    await stage.stopDispatch();
    const asleep = await publish(stage.client, batch, { waitMs: 300 });
    assert.equal(asleep.answered, false);
    assert.deepEqual(asleep.admissions, [
      { position: 0, key: 'asleep:a', admission: 'pending' },
      { position: 1, key: null, admission: 'pending' },
    ]);
    await stage.startDispatch();
    const awake = await publish(stage.client, batch);
    assert.equal(awake.answered, true);
    assert.deepEqual(kinds(awake.admissions), ['accepted', 'rejected']);
    await batchEnd(stage.client, 'asleep');
    assert.equal(effectsOf('asleep:a'), 1);
  });
});

test('the members that a TypeScript caller leaves undefined make no other batch', async () => {
  await withLane(stage, 'undefined', {}, async () => {
    const said = { key: 'undefined:a', payload: { name: 'a', note: undefined }, priority: undefined };
    const batch = { batchId: 'undefined', lane: 'undefined', items: [said] };
    const first = await publish(stage.client, batch);
    assert.deepEqual(kinds(first.admissions), ['accepted']);
    const plain = { ...batch, items: [{ key: 'undefined:a', payload: { name: 'a' } }] };
    assert.deepEqual(await publish(stage.client, plain), first);
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

async function runByHand(workflowId: string, input: unknown): Promise<void> {
  await stage.client.workflow.execute('dispatchBatch', { workflowId, taskQueue: 'onelane', args: [input] });
}

async function assertRefusal(run: Promise<void>, says: RegExp): Promise<void> {
  await assert.rejects(run, (error: unknown) => {
    assert(error instanceof WorkflowFailedError);
    assert(error.cause instanceof ApplicationFailure);
    assert.equal(error.cause.type, 'BatchRefused');
    assert.match(error.cause.message, says);
    return true;
  });
}
