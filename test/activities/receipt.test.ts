import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { receiptOf } from '../../src/activities/receipt.ts';
import type { AnswerHeaders } from '../../src/domain/verdict.ts';

const AT = '2026-08-12T17:00:00.000Z';

function receipt(body: string, receiptId = 'id', headers: AnswerHeaders = {}) {
  const answer = { kind: 'answered', status: 201, headers, body, whole: true } as const;
  return receiptOf(answer, { receiptId, secrets: ['s3cret'] }, 'answer', 3, AT);
}

describe('a receipt', () => {
  it('says by which status, when and by which attempt the item was completed', () => {
    assert.deepEqual(receipt('{"id":"rel_7"}'), {
      status: 201,
      upstreamId: 'rel_7',
      replayed: false,
      foundBy: 'answer',
      at: AT,
      attempt: 3,
      by: null,
      reason: null,
    });
  });

  for (const [body, path, id] of [
    ['{"id":7}', 'id', '7'],
    ['{"release":{"ids":["a","b"]}}', 'release.ids.1', 'b'],
    ['{"id":0}', 'id', '0'],
    ['{"id":""}', 'id', null],
    ['{"id":null}', 'id', null],
    ['{"id":{"a":1}}', 'id', null],
    ['{"id":true}', 'id', null],
    ['{"other":1}', 'id', null],
    ['{"id":"text"}', 'id.length', null],
    ['{}', 'constructor.name', null],
    ['[]', 'length', null],
    ['null', 'id', null],
    ['', 'id', null],
    ['<html>', 'id', null],
    ['{"id":"cut o', 'id', null],
    [`${'['.repeat(30_000)}${']'.repeat(30_000)}`, 'id', null],
    ['{"id":12345678901234567890}', 'id', null],
    ['{"id":1.5}', 'id', null],
  ] as const)
    it(`finds ${id ?? 'nothing'} at ${path} of ${body.slice(0, 30) || 'an empty body'}`, () => {
      assert.equal(receipt(body, path).upstreamId, id);
    });

  it('has the Location where the body names no ID', () => {
    assert.equal(receipt('', 'id', { location: '/releases/7' }).upstreamId, '/releases/7');
    assert.equal(receipt('{"id":"body"}', 'id', { location: '/releases/7' }).upstreamId, 'body');
  });

  for (const [value, replayed] of [
    ['true', true],
    [' TRUE ', true],
    ['false', false],
    ['1', false],
    ['', false],
  ] as const)
    it(`Idempotent-Replayed: ${JSON.stringify(value)} means ${replayed ? '' : 'not '}replayed`, () => {
      assert.equal(receipt('{}', 'id', { idempotentReplayed: value }).replayed, replayed);
    });

  it('holds no secret, and of an endless ID the beginning only', () => {
    assert.equal(receipt('{"id":"s3cret-7"}').upstreamId, '[secret]-7');
    assert.equal(receipt('', 'id', { location: '/r?token=s3cret' }).upstreamId, '/r?token=[secret]');
    assert.equal(receipt(JSON.stringify({ id: 'x'.repeat(10_000) })).upstreamId?.length, 255);
  });

  it('is made of any answer, since the call has succeeded whatever its body looks like', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.json()),
        fc.stringMatching(/^[a-z_]{1,9}(\.[a-z0-9_]{1,9}){0,2}$/),
        (body, path) => {
          const { upstreamId } = receipt(body, path);
          assert(upstreamId === null || upstreamId.length > 0);
        },
      ),
    );
  });
});
