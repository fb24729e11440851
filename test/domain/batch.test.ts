import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { type Admission, contentHash, countBatch, parseBatch } from '../../src/domain/batch.ts';
import { ITEM_STATES, type ItemState } from '../../src/domain/item.ts';

const BATCH = { batchId: 'release-batch:17', lane: 'releases', items: [{ key: 'a', payload: 1 }] };

function refusal(input: unknown): string {
  const parsed = parseBatch(input);
  return parsed.ok ? 'none' : parsed.reason;
}

describe('a batch as a whole', () => {
  const NAME = 'expected 1 to 200 printable ASCII characters, not beginning or ending with a space';
  for (const [name, changes, reason] of [
    ['no items', { items: [] }, 'items: expected at least one item, got an empty batch'],
    [
      '501 items',
      { items: Array.from({ length: 501 }, () => 1) },
      'items: expected at most 500 items in one page',
    ],
    [
      'more than 1 MiB',
      { items: ['x'.repeat(2 ** 20)] },
      'items: expected at most 1048576 bytes (1 MiB) in one page, got 1048580',
    ],
    [
      'more than 1 MiB in UTF-8',
      { items: ['€'.repeat(2 ** 19)] },
      'items: expected at most 1048576 bytes (1 MiB) in one page, got 1572868',
    ],
    ['an empty batchId', { batchId: '' }, `batchId: ${NAME}`],
    ['a line break in its batchId', { batchId: 'a\nb' }, `batchId: ${NAME}`],
    [
      'a slash in its batchId',
      { batchId: 'a/b' },
      'batchId: may not contain "/", which separates the parts of an ID',
    ],
    ['a slash in its lane', { lane: 'a/b' }, 'lane: may not contain "/", which separates the parts of an ID'],
    ['no lane', { lane: undefined }, 'lane: Invalid input: expected string, received undefined'],
    ['items that are no list', { items: {} }, 'items: Invalid input: expected array, received object'],
    ['a page before the first', { page: -1 }, 'page: Too small: expected number to be >=0'],
    ['no pages', { pages: 0 }, 'pages: Too small: expected number to be >=1'],
    ['a field that nobody knows', { itmes: [] }, 'batch: Unrecognized key: "itmes"'],
  ] as const)
    it(`with ${name} is refused, by the field`, () => {
      assert.equal(refusal({ ...BATCH, ...changes }), reason);
    });

  it('says all that is wrong with it at once', () => {
    assert.equal(
      refusal({ ...BATCH, batchId: 'a/b', items: [] }),
      'batchId: may not contain "/", which separates the parts of an ID; items: expected at least one item, got an empty batch',
    );
  });

  it('is not refused for items that are no items: each is answered for itself', () => {
    fc.assert(
      fc.property(fc.array(fc.anything(), { minLength: 1, maxLength: 20 }), (items) => {
        assert.equal(refusal({ ...BATCH, items }), 'none');
      }),
    );
  });

  it('may be a full page', () => {
    const items = Array.from({ length: 500 }, () => 'x'.repeat(2_000));
    assert.equal(refusal({ ...BATCH, items, page: 3, publisher: 'ci' }), 'none');
  });
});

describe('the content of a batch', () => {
  const same = contentHash(BATCH);

  it('is lane, page and items, whatever the order of names, and not who published them', () => {
    assert.equal(contentHash({ ...BATCH, items: [{ payload: 1, key: 'a' }] }), same);
    const counted = { ...BATCH, page: 0, pages: 3, total: 1_200 };
    assert.equal(contentHash(counted), same);
    assert.equal(refusal(counted), 'none');
    for (const other of [
      { lane: 'other' },
      { page: 1 },
      { items: [{ key: 'a', payload: 2 }] },
      { items: [] },
    ])
      assert.notEqual(contentHash({ ...BATCH, ...other }), same);
  });

  it('has a hash though a number in it is beyond any double, which only its item is rejected for', () => {
    const items: unknown[] = JSON.parse('[{"key":"a","payload":1e400}]');
    assert.equal(refusal({ ...BATCH, items }), 'none');
    assert.notEqual(contentHash({ ...BATCH, items }), same);
  });

  it('is another when the items stand in another order', () => {
    assert.notEqual(contentHash({ ...BATCH, items: [1, 2] }), contentHash({ ...BATCH, items: [2, 1] }));
  });

  it('tells the deepest valid items apart', () => {
    let one: unknown = 1;
    let two: unknown = 2;
    // The item itself is the level above them.
    for (let i = 0; i < 63; i++) [one, two] = [[one], [two]];
    assert.notEqual(
      contentHash({ ...BATCH, items: [{ key: 'a', payload: one }] }),
      contentHash({ ...BATCH, items: [{ key: 'a', payload: two }] }),
    );
  });
});

describe('the counts of a batch', () => {
  it('add up: published are the admissions, accepted are the ends and what is open', () => {
    const anyAdmission = fc.constantFrom('accepted', 'duplicate', 'conflict', 'rejected', 'pending');
    const position = fc.record({ admission: anyAdmission, state: fc.constantFrom(...ITEM_STATES) });
    fc.assert(
      fc.property(fc.array(position), (positions) => {
        const states: { [key: string]: ItemState } = {};
        const admissions = positions.map(({ admission, state }, at): Admission => {
          const key = `k${at}`;
          if (admission === 'accepted') states[key] = state;
          const reason = 'some';
          return { position: at, key, admission, reason, state };
        });
        const counts = countBatch(admissions, states);
        const { accepted, duplicate, conflict, rejected, pending } = counts;
        assert.equal(counts.published, positions.length);
        assert.equal(accepted + duplicate + conflict + rejected + pending, positions.length);
        const { succeeded, dead, uncertain, discarded, terminated, open } = counts;
        assert.equal(succeeded + dead + uncertain + discarded + terminated + open, accepted);
        const waiting = Object.values(states).filter((state) =>
          ['waiting', 'sending', 'retrying'].includes(state),
        );
        assert.equal(open, waiting.length);
        assert.equal(dead, Object.values(states).filter((state) => state === 'dead').length);
      }),
    );
  });
});
