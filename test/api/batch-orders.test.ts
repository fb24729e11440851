import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchOrderSchema, BatchReportSchema } from '../../src/api/batch-answers.ts';
import { ItemRecordSchema } from '../../src/api/item-answers.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { ask, publishOver } from '../support/api.ts';
import { useApi } from '../support/api-stage.ts';
import { batchOf } from '../support/batches.ts';
import { recordOnce } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { batchEnd } from '../support/wait.ts';

const api = useApi({
  grants: {
    ops: { scopes: ['publish', 'read', 'operate'], lanes: 'all' },
    reader: { scopes: ['publish', 'read'], lanes: 'all' },
    elsewhere: { scopes: ['publish', 'read', 'operate'], lanes: ['elsewhere'] },
  },
});

type Act = 'pause' | 'resume' | 'discard';
type Name = 'ops' | 'reader' | 'elsewhere';

function order(batchId: string, act: Act, body: object, name: Name = 'ops') {
  return ask(api.url, `/v1/batches/${batchId}/${act}`, { body, headers: api.keys.bearer(name) });
}

async function reportOf(batchId: string) {
  const asked = await ask(api.url, `/v1/batches/${batchId}/report`, { headers: api.keys.bearer('ops') });
  return asked.as(BatchReportSchema);
}

async function recordOf(key: string) {
  const asked = await ask(api.url, `/v1/items/${encodeURIComponent(key)}`, {
    headers: api.keys.bearer('ops'),
  });
  return asked.as(ItemRecordSchema);
}

const NONE = { done: 0, ended: 0, refused: 0, unanswered: 0, pending: 0 };

test('of a batch that is paused nothing is sent until it is resumed, each in the name of the key and once', async () => {
  await withLane(api.stage, 'paused', { open: false }, async ({ config, upstream, effectsOf }) => {
    const { items } = batchOf('paused', 3);
    await publishOver(api.url, 'paused', 'paused', items, api.keys.bearer('ops'));
    const paused = await order('paused', 'pause', { reason: 'wrong release' });
    assert.deepEqual(paused.as(BatchOrderSchema), {
      batchId: 'paused',
      counts: { ...NONE, done: 3 },
      notDone: [],
    });
    assert.equal((await order('paused', 'pause', { reason: 'wrong release' })).text, paused.text);
    const held = { by: 'ops', reason: 'wrong release' };
    assert.deepEqual((await reportOf('paused')).held, held);
    assert.deepEqual((await recordOf('paused:0')).held, held);

    api.stage.openLane(config);
    // What comes after it goes all the way.
    const later = [{ key: 'paused:later', payload: 1 }];
    await publishOver(api.url, 'later', 'paused', later, api.keys.bearer('ops'));
    await batchEnd(api.stage.client, 'later');
    assert.deepEqual(
      upstream.arrivals().map(({ key }) => key),
      ['paused:later'],
    );

    const resumed = await order('paused', 'resume', { reason: 'right after all' });
    assert.deepEqual(resumed.as(BatchOrderSchema).counts, { ...NONE, done: 3 });
    await batchEnd(api.stage.client, 'paused');
    const again = await order('paused', 'resume', { reason: 'right after all' });
    assert.deepEqual(again.as(BatchOrderSchema).counts, NONE, 'nothing is left that it is for');
    for (const { key } of [...items, ...later]) assert.equal(effectsOf(key), 1, key);
    assert.equal((await reportOf('paused')).held, null);
    assert.deepEqual(
      (await recordOf('paused:0')).orders.map(({ kind, by, reason }) => [kind, by, reason]),
      [
        ['hold', 'ops', 'wrong release'],
        ['release', 'ops', 'right after all'],
      ],
    );
  });
});

test('what is left of a batch is discarded in the name of the key; what is being sent is named, and goes on', async () => {
  const faults: FaultScript = { 'dropped:0': [{ type: 'delay', ms: 3_000 }] };
  const lane = { delivery: { leaseMs: 1_500, timeoutMs: 5_000 } };
  await withLane(api.stage, 'dropped', { upstream: { faults }, lane }, async ({ upstream }) => {
    const items = batchOf('dropped', 3).items.map((item, n) =>
      n === 0 ? item : { ...item, notBefore: '2999-01-01T00:00:00Z' },
    );
    await publishOver(api.url, 'dropped', 'dropped', items, api.keys.bearer('ops'));
    await recordOnce(api.stage, 'dropped:0', ({ state }) => state === 'sending');
    const discarded = (await order('dropped', 'discard', { reason: 'withdrawn' })).as(BatchOrderSchema);
    assert.deepEqual(discarded.counts, { ...NONE, done: 2, refused: 1 });
    assert.deepEqual(
      discarded.notDone.map(({ page, position, key, outcome, state }) => [
        page,
        position,
        key,
        outcome,
        state,
      ]),
      [[0, 0, 'dropped:0', 'refused', 'sending']],
    );
    assert.match(discarded.notDone[0]?.reason ?? '', /being sent/);

    await batchEnd(api.stage.client, 'dropped');
    const again = (await order('dropped', 'discard', { reason: 'withdrawn' })).as(BatchOrderSchema);
    assert.deepEqual(again, { batchId: 'dropped', counts: NONE, notDone: [] }, 'nothing is left');
    const { rows, addsUp, discarded: ordered } = await reportOf('dropped');
    assert.deepEqual(ordered, { by: 'ops', reason: 'withdrawn' });
    assert.deepEqual(
      rows.map(({ key, state, by, reason }) => [key, state, by, reason]),
      [
        ['dropped:0', 'succeeded', null, null],
        ['dropped:1', 'discarded', 'ops', 'withdrawn'],
        ['dropped:2', 'discarded', 'ops', 'withdrawn'],
      ],
    );
    assert.ok(addsUp);
    assert.equal(upstream.arrivals().length, 1);
  });
});

test('a batch is not touched by a key that may not operate, nor without a reason; to one of another lane it is unknown', async () => {
  await withLane(api.stage, 'guarded', { open: false }, async () => {
    const { items } = batchOf('guarded', 1);
    await publishOver(api.url, 'guarded', 'guarded', items, api.keys.bearer('ops'));
    for (const act of ['pause', 'resume', 'discard'] as const) {
      const kindOf = async (batchId: string, body: object, name: Name) =>
        (await order(batchId, act, body, name)).problem().type.replace('urn:onelane:problem:', '');
      const because = { reason: 'a test' };
      assert.equal(await kindOf('guarded', because, 'reader'), 'forbidden', act);
      assert.equal(await kindOf('guarded', because, 'elsewhere'), 'not-found', act);
      assert.equal(await kindOf('nobody', because, 'ops'), 'not-found', act);
      for (const body of [{}, { reason: ' ' }, { ...because, by: 'somebody else' }])
        assert.equal(await kindOf('guarded', body, 'ops'), 'bad-request', act);
    }
    const { held, discarded, counts } = await reportOf('guarded');
    assert.deepEqual([held, discarded, counts.open], [null, null, 1]);
    assert.deepEqual((await recordOf('guarded:0')).orders, []);
  });
});
