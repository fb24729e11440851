import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { exactnessFault, membersOf } from '../../src/domain/json-text.ts';

const ROUNDED = 'is a number that readers round; send it as a string';

describe('what only the text of a JSON value shows', () => {
  for (const [text, fault] of [
    ['{"a":1,"a":1}', 'a: stands twice'],
    ['{"a":1,"\\u0061":2}', 'a: stands twice'],
    ['{"p":{"list":[{},{"x":1,"x":2}]}}', 'p.list[1].x: stands twice'],
    ['{"__proto__":1,"__proto__":2}', '__proto__: stands twice'],
    ['{"a":9007199254740993}', `a: 9007199254740993 ${ROUNDED}`],
    ['{"a":[0,-12345678901234567890]}', `a[1]: -12345678901234567890 ${ROUNDED}`],
    ['[1e400]', `[0]: 1e400 ${ROUNDED}`],
    ['[1e-400]', `[0]: 1e-400 ${ROUNDED}`],
    ['[1E20]', `[0]: 1E20 ${ROUNDED}`],
    ['[0.12345678901234567890]', `[0]: 0.12345678901234567890 ${ROUNDED}`],
    [`[1.${'0'.repeat(500)}]`, `[0]: 1.${'0'.repeat(58)}… ${ROUNDED}`],
    ['9007199254740992', `: 9007199254740992 ${ROUNDED}`],
    [`${'['.repeat(5_000)}${']'.repeat(5_000)}`, 'nested deeper than 64 levels'],
  ] as const)
    it(`${text.slice(0, 50)} is refused: ${fault}`, () => {
      JSON.parse(text);
      assert.equal(exactnessFault(text), fault);
    });

  it('a number with more zeros than any writer means is refused, quickly', () => {
    assert.match(
      exactnessFault(`[0.${'0'.repeat(1_000_000)}1]`) ?? '',
      /^\[0\]: 0\.0{58}… is a number that readers round/,
    );
  });

  for (const text of [
    '{"a":{"x":1},"b":{"x":1}}',
    '[{"x":1},{"x":1}]',
    '{"a":"b","b":"a"}',
    '{"a":"{\\"a\\":1e400}"}',
    '[9007199254740991,-9007199254740991,0,-0,0.0,-0.0e9,0.1,1.50,15e-1,1e2,2.5E+3,1e-7,5e-324,true,null]',
    `${'['.repeat(66)}${']'.repeat(66)}`,
    '"text"',
  ])
    it(`${text.slice(0, 50)} is exact`, () => {
      assert.equal(exactnessFault(text), undefined);
    });

  it('any value that JSON.stringify wrote is exact, however it is indented', () => {
    const value = fc.jsonValue({ maxDepth: 5 }).filter((json) => !JSON.stringify(json).match(/\d{16}|e\+/));
    fc.assert(
      fc.property(value, fc.nat(3), (json, indent) => {
        assert.equal(exactnessFault(JSON.stringify(json, null, indent)), undefined);
      }),
      { numRuns: 500 },
    );
  });

  it('any name that is repeated anywhere is found', () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue({ maxDepth: 2 }), fc.nat(30), (name, value, depth) => {
        const quoted = JSON.stringify(name);
        const json = JSON.stringify(value);
        fc.pre(name !== 'q' && exactnessFault(json) === undefined);
        const text = `${'{"in":['.repeat(depth)}{${quoted}:0,"q":${json},${quoted}:1}${']}'.repeat(depth)}`;
        assert.match(exactnessFault(text) ?? '', /stands twice$/);
      }),
    );
  });
});

describe('the members of a JSON text', () => {
  it('any array comes apart into its elements', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.nat(3), (elements, indent) => {
        const members = membersOf(` ${JSON.stringify(elements, null, indent)}\n`);
        assert.deepEqual(
          members.map(({ text }): unknown => JSON.parse(text)),
          JSON.parse(JSON.stringify(elements)),
        );
      }),
    );
  });

  it('any object comes apart into its names and values, in order', () => {
    const entries = fc.uniqueArray(fc.tuple(fc.string(), fc.jsonValue({ maxDepth: 3 })), {
      selector: ([name]) => name,
    });
    fc.assert(
      fc.property(entries, (pairs) => {
        const written = pairs.map(([name, value]) => `${JSON.stringify(name)} : ${JSON.stringify(value)}`);
        assert.deepEqual(
          membersOf(`{${written.join(' , ')}}`).map(({ name, text }) => [name, text]),
          pairs.map(([name, value]) => [name, JSON.stringify(value)]),
        );
      }),
    );
  });
});
