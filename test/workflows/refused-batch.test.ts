import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  BatchRefusedError,
  NotFoundError,
  batchReport,
  batchStatus,
  itemRecord,
  publish,
} from '../../src/client.ts';
import { waitForBatch } from '../../src/client/wait.ts';
import { laneConfig } from '../support/lane.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { batchEnd } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

const NOWHERE = 'http://127.0.0.1:9';

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
    assert.deepEqual(admissions, [{ position: 0, key: 'early:a', admission: 'accepted' }]);
    await batchEnd(stage.client, 'early');
    assert.equal(effectsOf('early:a'), 1);
  });
});

test('a batch that was refused after nobody waited for it says why, and is not waited for without end', async () => {
  const batch = { batchId: 'unheard', lane: 'unheard', items: [{ key: 'unheard:a', payload: {} }] };
  const { answered } = await publish(stage.client, batch, { waitMs: 0 });
  assert.equal(answered, false);
  const why = /^lane: expected one of .*, got "unheard"$/;
  await assert.rejects(
    waitForBatch(stage.client, 'unheard', { withinMs: 30_000 }),
    (error: unknown) => error instanceof BatchRefusedError && why.test(error.message),
  );
  const status = await batchStatus(stage.client, 'unheard');
  assert.match(status.failure ?? '', why);
  assert.equal(status.counts.pending, 1);
  assert.match((await batchReport(stage.client, 'unheard')).failure ?? '', why);
  await withLane(stage, 'unheard', {}, async () => {
    await publish(stage.client, batch);
    assert.equal((await batchStatus(stage.client, 'unheard')).failure, null);
    assert.equal((await waitForBatch(stage.client, 'unheard')).failure, null);
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

test('nothing is known under an empty key, which the server would take for a request that lacks one', async () => {
  await assert.rejects(itemRecord(stage.client, ''), NotFoundError);
});

test('a batch started under a workflow ID that is not its own is refused whole', async () => {
  const batch = { batchId: 'named', lane: 'known', items: [{ key: 'named:a', payload: {} }] };
  stage.lanes.set('known', laneConfig('known', NOWHERE));
  await assertRefusal(
    runByHand('batch/misnamed', batch),
    /^workflow ID: expected "batch\/named", got "batch\/misnamed"$/,
  );
  await assert.rejects(itemRecord(stage.client, 'named:a'), NotFoundError);
});

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
