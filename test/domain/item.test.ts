import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { describeIssues } from '../../src/domain/batch.ts';
import { ITEM_STATES, ItemSchema, hasEnded, isParked, keyFault } from '../../src/domain/item.ts';

const ITEM = { key: 'release:a:1', payload: { package: 'a' } };

/** All that is wrong with an item, as its publisher reads it. */
function faults(changes: object): string {
  const parsed = ItemSchema.safeParse({ ...ITEM, ...changes });
  return parsed.success ? 'none' : describeIssues(parsed.error, 'item');
}

describe('a key', () => {
  for (const [key, fault] of [
    ['', 'expected 1 to 255 characters, got an empty text'],
    ['x'.repeat(256), 'expected at most 255 bytes, got 256'],
    ['release:é', 'expected printable ASCII only'],
    ['a\r\nX-Injected: 1', 'expected printable ASCII only'],
    ['a\t', 'expected printable ASCII only'],
    ['a\u007f', 'expected printable ASCII only'],
    [' a', 'may not begin or end with a space, which headers drop'],
    ['a ', 'may not begin or end with a space, which headers drop'],
    ['.', '"." cannot be carried by a URL'],
    ['..', '".." cannot be carried by a URL'],
    ['batch/a', `may not begin with "batch/", which names onelane's own workflows`],
    ['lane/releases', `may not begin with "lane/", which names onelane's own workflows`],
    ['schedule/nightly', `may not begin with "schedule/", which names onelane's own workflows`],
  ] as const)
    it(`${JSON.stringify(key.slice(0, 20))} is refused: ${fault}`, () => {
      assert.equal(keyFault(key), fault);
      assert.equal(faults({ key }), `key: ${fault}`);
    });

  for (const key of [
    'a',
    'x'.repeat(255),
    'release:pkg-1842:v7',
    'a b',
    '...',
    'batch',
    'my/batch/1',
    '__proto__',
  ])
    it(`${JSON.stringify(key.slice(0, 20))} is taken`, () => {
      assert.equal(keyFault(key), undefined);
    });

  it('any key that is refused is refused for a reason that is so', () => {
    const nearly = fc.constantFrom('', ' ', '.', 'batch/', 'lane/', 'reconcile/', 'schedule/', 'é', '\n');
    fc.assert(
      fc.property(fc.tuple(nearly, fc.string({ maxLength: 260 }), nearly), (parts) => {
        assert.doesNotMatch(keyFault(parts.join('')) ?? '', /undefined/);
      }),
    );
  });

  it('any key that is taken is the same text in a header and in a URL', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.stringMatching(/^[ -~]*$/)),
        (key) => {
          if (keyFault(key) !== undefined) return;
          assert.equal(new Headers({ k: key }).get('k'), key);
          const { pathname } = new URL(`http://host/${encodeURIComponent(key)}`);
          assert.equal(decodeURIComponent(pathname.slice(1)), key);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('an item', () => {
  for (const [changes, fault] of [
    [{ payload: undefined }, 'payload: required: any JSON value'],
    [{ key: 5 }, 'key: Invalid input: expected string, received number'],
    [{ operation: '' }, 'operation: expected 1 to 255 characters'],
    [{ operation: 'x'.repeat(256) }, 'operation: expected 1 to 255 characters'],
    [{ version: 1.5 }, 'version: expected a text or a whole number'],
    [{ version: '' }, 'version: expected 1 to 255 characters'],
    [{ version: '\ud83d' }, 'version: text with a lone surrogate, which UTF-8 cannot carry'],
    [{ partition: 'a/b' }, 'partition: may not contain "/", which separates lane and partition'],
    [{ priority: 0 }, 'priority: Too small: expected number to be >=1'],
    [{ priority: 6 }, 'priority: Too big: expected number to be <=5'],
    [{ priority: '3' }, 'priority: Invalid input: expected number, received string'],
    [{ colour: 'red' }, 'item: Unrecognized key: "colour"'],
    [
      { correlationId: 'a\r\nX-Injected: 1' },
      'correlationId: expected 1 to 255 printable ASCII characters, not beginning or ending with a space',
    ],
    [
      { partition: 'a\n' },
      'partition: expected 1 to 255 printable ASCII characters, not beginning or ending with a space',
    ],
  ] as const)
    it(`with ${JSON.stringify(changes).slice(0, 40)} is refused: ${fault}`, () => {
      assert.equal(faults(changes), fault);
    });

  for (const notBefore of [
    'tomorrow',
    '',
    '2026-08-12',
    '2026-08-12T17:00:00',
    '2026-02-30T00:00:00Z',
    1786554000000,
  ])
    it(`notBefore ${JSON.stringify(notBefore)} is refused, with an example of one that is not`, () => {
      assert.equal(
        faults({ notBefore }),
        'notBefore: expected an instant such as 2026-08-12T17:00:00Z, with Z or an offset',
      );
    });

  it('any notBefore that is taken is an instant', () => {
    const loose = fc.stringMatching(
      /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(:[0-6]\d)?(\.\d{1,12})?(Z|[+-][0-2]\d:?[0-5]\d|)$/,
    );
    fc.assert(
      fc.property(loose, (notBefore) => {
        if (faults({ notBefore }) === 'none') assert(Number.isFinite(Date.parse(notBefore)), notBefore);
      }),
      { numRuns: 2_000 },
    );
    assert.equal(faults({ notBefore: '2026-08-12T19:00:00.5+02:00' }), 'none');
  });

  it('may have null, false, 0 or an empty text as its payload, and needs no key', () => {
    for (const payload of [null, false, 0, '']) assert.equal(faults({ payload, key: undefined }), 'none');
  });

  it('says all that is wrong with it at once', () => {
    assert.equal(
      faults({ key: '', priority: 9 }),
      'key: expected 1 to 255 characters, got an empty text; priority: Too big: expected number to be <=5',
    );
  });
});

describe('states', () => {
  it('each is one of open, parked and ended', () => {
    const parked = ITEM_STATES.filter(isParked);
    const ended = ITEM_STATES.filter(hasEnded);
    assert.deepEqual(parked, ['dead', 'uncertain']);
    assert.deepEqual(ended, ['succeeded', 'discarded', 'terminated']);
  });
});
