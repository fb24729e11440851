import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { boundDepth, canonicalText, digest, utf8Length } from '../../src/domain/canonical.ts';
import { type Json, MAX_JSON_DEPTH } from '../../src/domain/json.ts';

const anyJson = fc
  .jsonValue({ maxDepth: 4, stringUnit: 'binary' })
  .map((value): Json => JSON.parse(JSON.stringify(value)));

describe('the canonical text of a JSON value (RFC 8785)', () => {
  // RFC 8785, appendix B: the double as its 64 bits, and its text.
  for (const [bits, text] of [
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ] as const)
    it(`the double ${bits} is written ${text}`, () => {
      assert.equal(canonicalText(Buffer.from(bits, 'hex').readDoubleBE()), text);
    });

  it('neither NaN nor Infinity has a text', () => {
    assert.throws(() => canonicalText(NaN));
    assert.throws(() => canonicalText([Infinity]));
  });

  it('names are sorted by UTF-16 code units, not by code points (RFC 8785, 3.2.3)', () => {
    const named: Json = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    assert.deepEqual(Object.values(JSON.parse(`[${canonicalText(named)}]`)).length, 1);
    const order = ['"\\r"', '"1"', '"\u0080"', '"\u00f6"', '"\u20ac"', '"\ud83d\ude00"', '"\ufb33"'];
    const positions = order.map((name) => canonicalText(named).indexOf(`${name}:`));
    assert.deepEqual(
      positions,
      positions.toSorted((a, b) => a - b),
    );
    assert(positions.every((position) => position > 0));
  });

  it('escapes, literals and nesting are those of the RFC (3.2.2)', () => {
    const value: Json = JSON.parse(String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`);
    assert.equal(
      canonicalText(value),
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it('names that mean something to JavaScript are names like others', () => {
    const value: Json = JSON.parse('{"toJSON":{"b":1,"a":2},"constructor":[],"__proto__":{"d":1,"c":2}}');
    assert.equal(canonicalText(value), '{"__proto__":{"c":2,"d":1},"constructor":[],"toJSON":{"a":2,"b":1}}');
  });

  it('a value that stands at two places is no circle', () => {
    const shared: Json = { x: 1 };
    assert.equal(canonicalText({ a: shared, ab: [shared] }), '{"a":{"x":1},"ab":[{"x":1}]}');
  });

  it('any two values with the same members have one text and one hash, whatever the order', () => {
    fc.assert(
      fc.property(anyJson, fc.constantFrom('toJSON', '__proto__', '10', '9'), (value, name) => {
        const named = Object.fromEntries([
          ['wrapped', value],
          [name, value],
          ['0', value],
        ]);
        assert.equal(canonicalText(reversed(named)), canonicalText(named));
        assert.equal(digest(reversed(named)), digest(named));
      }),
    );
  });

  it('any text is read back as the value that it was written of', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        assert.deepEqual(JSON.parse(canonicalText(value)), value);
      }),
    );
  });

  it('the hash is the SHA-256 of the text in UTF-8, and so is the length', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = canonicalText(value);
        assert.equal(digest(value), createHash('sha256').update(text, 'utf8').digest('hex'));
        assert.equal(utf8Length(text), Buffer.byteLength(text));
      }),
    );
  });
});

describe('values that may be anything', () => {
  it('what a valid item can hold is left as it is', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        assert.deepEqual(boundDepth(value), value);
      }),
    );
    let deepest: Json = [];
    for (let i = 0; i < MAX_JSON_DEPTH; i++) deepest = [deepest];
    assert.deepEqual(boundDepth(deepest), deepest);
  });

  it('members that JSON leaves out are left out, so that an item hashes alike before and after its journey', () => {
    const item = { key: 'k', correlationId: undefined, payload: { a: [{ b: undefined }] } };
    assert.equal(digest(boundDepth(item)), digest(boundDepth(JSON.parse(JSON.stringify(item)))));
  });

  it('100,000 levels, functions and bigints have a hash, too', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = { deep };
    assert.match(digest(boundDepth([deep, () => 1, 1n, undefined])), /^[0-9a-f]{64}$/);
  });
});

/** The same value with its names in the opposite order of insertion, all the way down. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  );
}
