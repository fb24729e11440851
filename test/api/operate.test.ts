import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { ItemStandingAnswerSchema, ItemRecordSchema } from '../../src/api/item-answers.ts';
import { LaneAnswerSchema, LaneRecordSchema } from '../../src/api/lane-answers.ts';
import { openLane } from '../../src/client/open-lane.ts';
import { ask, publishOver } from '../support/api.ts';
import { useApi } from '../support/api-stage.ts';
import { recordOnce } from '../support/items.ts';
import { withLane } from '../support/scene.ts';

const api = useApi({
  grants: { ops: { scopes: ['publish', 'read', 'operate'], lanes: 'all' } },
  laneDesk: true,
});

function order(path: string, body: unknown) {
  return ask(api.url, path, { body, headers: api.keys.bearer('ops') });
}

test('a parked item is redriven, and a waiting one discarded, in the name of the key', async () => {
  const faults = {
    'orders:a/b': [{ type: 'status' as const, status: 422, body: '{}' }],
    'orders:dead': Array.from({ length: 2 }, () => ({ type: 'status' as const, status: 422, body: '{}' })),
  };
  await withLane(api.stage, 'orders', { upstream: { faults } }, async () => {
    const items = ['orders:a/b', 'orders:dead'].map((key) => ({ key, payload: 1 }));
    await publishOver(api.url, 'orders', 'orders', items, api.keys.bearer('ops'));
    for (const { key } of items) await recordOnce(api.stage, key, ({ state }) => state === 'dead');

    const path = `/v1/items/${encodeURIComponent('orders:a/b')}`;
    const [first, second] = await Promise.all(
      [1, 2].map(() => order(`${path}/redrive`, { reason: 'the package is there now' })),
    );
    assert.equal(first?.status, 200, first?.text);
    assert.equal(second?.text, first?.text, 'twice at once is once');
    assert.equal(first?.as(ItemStandingAnswerSchema).round, 1);
    await recordOnce(api.stage, 'orders:a/b', ({ state }) => state === 'succeeded');
    const record = (await ask(api.url, path, { headers: api.keys.bearer('ops') })).as(ItemRecordSchema);
    assert.deepEqual(
      record.orders.map(({ kind, by, reason }) => [kind, by, reason]),
      [['redrive', 'ops', 'the package is there now']],
    );
    assert.equal((await order(`${path}/redrive`, { reason: 'again' })).status, 409, 'it has succeeded');

    const discarded = await order('/v1/items/orders%3Adead/discard', { reason: 'not needed' });
    assert.equal(discarded.as(ItemStandingAnswerSchema).state, 'discarded');
    assert.equal((await order('/v1/items/orders%3Anobody/discard', { reason: 'x' })).status, 404);
  });
});

test('a parked item is resolved with the ID that the upstream gave', async () => {
  const faults = { 'resolve:a': [{ type: 'status' as const, status: 422, body: '{}' }] };
  await withLane(api.stage, 'resolve', { upstream: { faults } }, async () => {
    await publishOver(
      api.url,
      'resolve',
      'resolve',
      [{ key: 'resolve:a', payload: 1 }],
      api.keys.bearer('ops'),
    );
    await recordOnce(api.stage, 'resolve:a', ({ state }) => state === 'dead');
    const resolved = await order('/v1/items/resolve%3Aa/resolve', {
      reason: 'seen there',
      upstreamId: 'u-1',
    });
    const { state, receipt } = resolved.as(ItemStandingAnswerSchema);
    assert.deepEqual(
      [state, receipt?.foundBy, receipt?.upstreamId, receipt?.by],
      ['succeeded', 'operator', 'u-1', 'ops'],
    );
  });
});

test('a lane is paused, overridden, resumed and drained in the name of the key, each for a reason', async () => {
  await openLane(api.stage.client, 'operated');
  const to = (act: string, body: object) => order(`/v1/lanes/operated/${act}`, { reason: 'a test', ...body });
  assert.deepEqual(pick((await to('pause', {})).as(LaneRecordSchema).paused), ['ops', 'a test']);
  const { override } = (await to('override', { requests: 2 })).as(LaneRecordSchema);
  assert.deepEqual([override?.requests, override?.maxInFlight, override?.by], [2, null, 'ops']);
  assert.equal((await to('override', {})).as(LaneRecordSchema).override, null);
  assert.equal((await to('resume', {})).as(LaneRecordSchema).paused, null);
  assert.deepEqual(pick((await to('drain', {})).as(LaneRecordSchema).draining), ['ops', 'a test']);

  const listed = await ask(api.url, '/v1/lanes', { headers: api.keys.bearer('ops') });
  const { lanes } = listed.as(z.object({ lanes: z.array(LaneAnswerSchema) }));
  assert.ok(lanes.some(({ name }) => name === 'operated'));
  assert.equal((await order('/v1/lanes/nowhere/pause', { reason: 'x' })).status, 404);
});

function pick(act: { by: string; reason: string } | null) {
  return act && [act.by, act.reason];
}
