import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Admission, BatchIdTakenError, publish } from '../../src/client.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { batchEnd } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

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

function kinds(admissions: readonly Admission[]): string[] {
  return admissions.map(({ admission }) => admission);
}
