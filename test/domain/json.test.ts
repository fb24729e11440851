import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { MAX_JSON_DEPTH, hasLoneSurrogate, jsonFault } from '../../src/domain/json.ts';

/** `levels` arrays in each other, the innermost holding `core`. */
function nested(levels: number, core: unknown = 1): unknown {
  let value = core;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

describe('what JSON carries exactly', () => {
  const HIGH = '\ud83d';
  const LOW = '\ude00';
  for (const [name, value, fault] of [
    ['undefined', undefined, 'payload: expected a JSON value, got undefined'],
    ['a function', { f: () => 1 }, 'payload.f: expected a JSON value, got function'],
    ['a bigint', [1n], 'payload[0]: expected a JSON value, got bigint'],
    ['a symbol', Symbol('s'), 'payload: expected a JSON value, got symbol'],
    ['NaN', { a: [0, NaN] }, 'payload.a[1]: expected a finite number, got NaN'],
    ['Infinity', -Infinity, 'payload: expected a finite number, got -Infinity'],
    [
      'an integer beyond 2^53',
      { id: 2 ** 53 },
      'payload.id: integer beyond 2^53 (9007199254740992), which JSON readers round; send it as a string',
    ],
    [
      'a float that is an integer beyond 2^53',
      1e300,
      'payload: integer beyond 2^53 (1e+300), which JSON readers round; send it as a string',
    ],
    ['a lone high surrogate', `a${HIGH}`, 'payload: text with a lone surrogate, which UTF-8 cannot carry'],
    ['a lone low surrogate', `${LOW}a`, 'payload: text with a lone surrogate, which UTF-8 cannot carry'],
    [
      'surrogates in the wrong order',
      LOW + HIGH,
      'payload: text with a lone surrogate, which UTF-8 cannot carry',
    ],
    [
      'a name with a lone surrogate',
      { [HIGH]: 1 },
      'payload: a name with a lone surrogate, which UTF-8 cannot carry',
    ],
    ['a Date', { at: new Date(0) }, 'payload.at: expected a plain object, got Date'],
    ['a Map', new Map(), 'payload: expected a plain object, got Map'],
    ['a Buffer', Buffer.from('x'), 'payload: expected a plain object, got Buffer'],
    // oxlint-disable-next-line no-sparse-arrays
    ['a list with a hole', [0, , 2], 'payload[1]: expected a JSON value, got undefined'],
  ] as const)
    it(`${name} is refused, and its place is named`, () => {
      assert.equal(jsonFault(value, 'payload'), fault);
    });

  for (const [name, value] of [
    ['null', null],
    ['the largest exact integers', [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]],
    ['fractions', [0.1, 5e-324, 1.5]],
    ['a pair of surrogates', HIGH + LOW],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
    ['an undefined member, which JSON leaves out', { a: undefined }],
    ['names of JavaScript itself', JSON.parse('{"__proto__":1,"constructor":2,"toJSON":3}')],
  ] as const)
    it(`${name} is carried`, () => {
      assert.equal(jsonFault(value, 'payload'), undefined);
    });

  it('nesting is bounded, so that 100,000 levels are refused without overflowing the stack', () => {
    assert.equal(jsonFault(nested(MAX_JSON_DEPTH), 'payload'), undefined);
    assert.match(
      jsonFault(nested(MAX_JSON_DEPTH + 1), 'payload') ?? '',
      /^payload(\[0\]){65}: nested deeper than 64/,
    );
    assert.match(jsonFault(nested(100_000), 'payload') ?? '', /nested deeper than 64 levels$/);
  });

  it('any value that passes comes back from its own text as what it was', () => {
    fc.assert(
      fc.property(fc.anything({ maxDepth: 3, withNullPrototype: true }), (value) => {
        if (jsonFault(value, 'v') !== undefined) return;
        const carried: unknown = JSON.parse(JSON.stringify(value));
        assert.deepEqual(carried, asCarried(value));
        assert.equal(jsonFault(carried, 'v'), undefined);
      }),
      { numRuns: 1_000 },
    );
  });

  it('any text is found to have a lone surrogate exactly when it is not well formed', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: fc.constantFrom(HIGH, LOW, 'a') }),
        (a, b) => {
          assert.equal(hasLoneSurrogate(a), wouldChange(a));
          assert.equal(hasLoneSurrogate(b), wouldChange(b));
        },
      ),
    );
  });
});

/** A lone surrogate becomes U+FFFD in UTF-8. */
function wouldChange(text: string): boolean {
  return Buffer.from(text).toString() !== text;
}

/** What JSON may change: it leaves undefined members out, and has no -0. */
function asCarried(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asCarried);
  if (value === 0) return 0;
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null)
    return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, asCarried(member)]));
}
