import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { MarkRefusedError } from '../../src/client/errors.ts';
import { readMark, writeMark } from '../../src/client/export-mark.ts';
import { NOTHING_EXPORTED } from '../../src/domain/export-mark.ts';

const scope = { namespaceId: '32049b68-7872-4094-8e63-d0dd59896a83', lane: null };
const mark = { atMs: 1_786_000_000_123, seen: { '0123456789abcdef': 17, fedcba9876543210: 0 } };
const text = writeMark(mark, scope);

test('a mark comes back as it was written; the space that a shell or a file adds does not matter', () => {
  assert.deepEqual(readMark(text, scope), mark);
  assert.deepEqual(readMark(`${text}\n`, scope), mark);
  assert.deepEqual(readMark(writeMark(NOTHING_EXPORTED, scope), scope), NOTHING_EXPORTED);
  assert.deepEqual(readMark(null, scope), NOTHING_EXPORTED);
  assert.match(text, /^[\w.-]+$/);
});

test('a mark that was cut off anywhere is refused', () => {
  for (let length = 0; length < text.length; length++)
    assert.throws(() => readMark(text.slice(0, length), scope), MarkRefusedError, `cut at ${length}`);
});

test('a mark with any character changed is refused', () => {
  fc.assert(
    fc.property(
      fc.nat(text.length - 1),
      fc.constantFrom('a', 'Z', '0', '9', '-', '_', '.'),
      (at, character) => {
        fc.pre(text[at] !== character);
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        assert.throws(() => readMark(changed, scope), MarkRefusedError);
      },
    ),
  );
});

test('any other text is refused, and the refusal says what was expected', () => {
  fc.assert(
    fc.property(fc.string(), (other) => assert.throws(() => readMark(other, scope), MarkRefusedError)),
  );
  assert.throws(() => readMark('2026-08-12', scope), /begins with "onelane-mark-1\.".*got "2026-08-12"/);
});

test('a mark of another namespace, or of an export of another lane, is refused', () => {
  assert.throws(
    () => readMark(text, { ...scope, namespaceId: 'another' }),
    /expected one of this namespace \(ID another\), got one of another \(ID 32049b68/,
  );
  assert.throws(
    () => readMark(text, { ...scope, lane: 'releases' }),
    /expected one of an export of lane "releases", got one of all lanes/,
  );
});
