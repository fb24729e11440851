import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { faultsIn } from '../../bench/accounting/account.ts';
import type { Facts } from '../../bench/accounting/facts.ts';
import { planOf } from '../../bench/accounting/plan.ts';

const CLEAN: Facts = {
  batches: [],
  items: [
    { lane: 'keys', key: 'a', state: 'succeeded' },
    { lane: 'neither', key: 'a', state: 'discarded' },
  ],
  effects: [
    { lane: 'keys', key: 'a' },
    { lane: 'neither', key: 'a' },
  ],
  wrongAnswers: [],
  doors: [],
  contradictions: [],
  audit: [],
};

suite('an accounting', () => {
  const broken: readonly [what: string, facts: Partial<Facts>, promise: keyof ReturnType<typeof faultsIn>][] =
    [
      [
        'an item that was done twice',
        { effects: [...CLEAN.effects, { lane: 'neither', key: 'a' }] },
        'keysWithTwoEffects',
      ],
      ['a success that was never done', { effects: CLEAN.effects.slice(1) }, 'succeededWithoutEffect'],
      [
        'a discarded item that was done, where the upstream takes keys',
        { items: [{ lane: 'keys', key: 'a', state: 'discarded' }, ...CLEAN.items.slice(1)] },
        'effectsWithoutSuccess',
      ],
      [
        'an item that is still parked',
        { items: [...CLEAN.items, { lane: 'keys', key: 'b', state: 'uncertain' }] },
        'unaccounted',
      ],
      [
        'an item of which nothing is known',
        { items: [...CLEAN.items, { lane: 'keys', key: 'b', state: null }] },
        'unaccounted',
      ],
      [
        'an effect that nobody asked for',
        { effects: [...CLEAN.effects, { lane: 'keys', key: 'unasked' }] },
        'unaccounted',
      ],
      ['a batch that is otherwise than its items', { batches: [batchOf('a', 'waiting')] }, 'wrongSums'],
      [
        'a batch that does not add up',
        { batches: [{ ...batchOf('a', 'succeeded'), faults: ['short'] }] },
        'wrongSums',
      ],
    ];
  for (const [what, facts, promise] of broken)
    test(`finds ${what}`, () => {
      const found = Object.entries(faultsIn({ ...CLEAN, ...facts })).filter(([, { length }]) => length > 0);
      assert.deepEqual(
        found.map(([name, { length }]) => [name, length]),
        [[promise, 1]],
      );
    });

  test('finds nothing where every item is what its upstream did', () => {
    const facts = { ...CLEAN, batches: [batchOf('a', 'succeeded')] };
    assert.deepEqual(Object.values(faultsIn(facts)).flat(), []);
  });

  test('publishes as many positions as were asked for, the same for the same seed', () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(500), (seed, items) => {
        const plans = planOf(seed, items);
        const positions = plans.flatMap(({ batches }) => batches).flatMap((batch) => batch.positions);
        assert.equal(positions.length, items);
        assert.deepEqual(planOf(seed, items), plans);
      }),
      { numRuns: 30 },
    );
  });
});

function batchOf(key: string, state: 'succeeded' | 'waiting'): Facts['batches'][number] {
  const row = {
    page: 0,
    position: 0,
    key,
    admission: 'accepted',
    state,
    receipt: null,
    by: null,
    reason: null,
  } as const;
  return {
    batchId: 'batch',
    lane: 'keys',
    owner: null,
    publisher: null,
    failure: null,
    held: null,
    discarded: null,
    extent: { pages: 1, arrived: 1, absentPages: [], total: 1 },
    counts: {
      published: 1,
      accepted: 1,
      duplicate: 0,
      conflict: 0,
      rejected: 0,
      pending: 0,
      absent: 0,
      succeeded: 1,
      parked: 0,
      discarded: 0,
      terminated: 0,
      open: 0,
    },
    addsUp: true,
    faults: [],
    drainsInMs: null,
    rows: [row],
  };
}
