import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lookupVerdict, readLookup } from '../../src/domain/lookup.ts';
import type { CallEnd } from '../../src/domain/verdict.ts';

const KEY = 'release:a:1';
const RECORD = JSON.stringify({ id: 'eff_1', key: KEY });

function answered(status: number, body: string, whole = true): CallEnd {
  return { kind: 'answered', status, headers: {}, body, whole };
}

function read(end: CallEnd, keyField = 'key') {
  return readLookup(end, KEY, keyField);
}

describe('a lookup finds', () => {
  it("this very key's record, wherever in the answer the key stands", () => {
    assert.deepEqual(read(answered(200, RECORD)), { kind: 'found' });
    assert.deepEqual(read(answered(200, JSON.stringify({ data: { ref: KEY } })), 'data.ref'), {
      kind: 'found',
    });
  });

  for (const status of [404, 410])
    it(`nothing where the upstream says so with ${status} and JSON`, () => {
      assert.deepEqual(read(answered(status, '{"error":"no such effect"}')), { kind: 'absent', status });
    });
});

describe('a lookup proves nothing by', () => {
  for (const [what, end, why] of [
    ['500', answered(500, RECORD), '500'],
    ["another key's record", answered(200, '{"key":"release:a:2"}'), '200 whose key is not the key'],
    ['a record without a key', answered(200, '{"id":"eff_1"}'), '200 whose key is not the key'],
    ['a list', answered(200, `[${RECORD}]`), '200 without a JSON object'],
    ['HTML', answered(200, '<html></html>'), '200 without a JSON object'],
    ['an empty answer', answered(200, ''), '200 without a JSON object'],
    ['204', answered(204, ''), '204 without a JSON object'],
    ['half a record', answered(200, RECORD, false), '200 with its answer cut off'],
    ['an error page with 404', answered(404, '<html>not found</html>'), '404 without JSON'],
    ['half an answer with 404', answered(404, '{}', false), '404 with its answer cut off'],
    ['a redirect', answered(302, RECORD), '302'],
    ['403', answered(403, '{}'), '403'],
    ['a timeout', { kind: 'unanswered', code: 'TIMEOUT' }, 'TIMEOUT'],
    ['no connection', { kind: 'unconnected', code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
  ] as const)
    it(what, () => {
      assert.deepEqual(read(end), { kind: 'noEvidence', why });
    });

  it('a key that only JavaScript knows', () => {
    assert.equal(readLookup(answered(200, '{}'), 'Object', 'constructor.name').kind, 'noEvidence');
  });
});

describe('to its lane, a lookup', () => {
  for (const [what, end, verdict] of [
    ['that finds is a success', answered(200, RECORD), 'succeeded'],
    ['that finds nothing is one, too, and no refusal', answered(404, '{}'), 'succeeded'],
    ['that is answered in vain still says that the upstream is up', answered(200, '<html>'), 'succeeded'],
    ['is refused by an error page, so that a wrong path pauses it', answered(404, '<html>'), 'refused'],
    ['is throttled by 429', answered(429, ''), 'throttled'],
    ['is a fault of its credentials by 401', answered(401, ''), 'laneFault'],
    ['is a failure by 500', answered(500, ''), 'ambiguous'],
    ['is unavailable without a connection', { kind: 'unconnected', code: 'ECONNREFUSED' }, 'unavailable'],
  ] as const)
    it(what, () => {
      assert.equal(lookupVerdict(end, read(end), false), verdict);
    });
});
