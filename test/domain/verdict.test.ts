import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CallEnd, type Verdict, endedAs, verdictOf } from '../../src/domain/verdict.ts';

const KEYS = { header: 'Idempotency-Key', windowMs: 1 };

const answered = (status: number, whole = true): CallEnd => ({
  kind: 'answered',
  status,
  headers: {},
  body: '',
  whole,
});

/**
 * The verdict table: a status, or a range of statuses from-to, and what it means without and with a usable
 * Retry-After. Read from above; the first line that fits a status is its own.
 */
const TABLE: readonly (readonly [from: number, to: number, without: Verdict, withRetryAfter: Verdict])[] = [
  [100, 199, 'ambiguous', 'ambiguous'],
  [200, 299, 'succeeded', 'succeeded'],
  [300, 399, 'refused', 'refused'],
  [401, 401, 'laneFault', 'laneFault'],
  [403, 403, 'refused', 'throttled'],
  [407, 407, 'laneFault', 'laneFault'],
  [408, 408, 'unavailable', 'unavailable'],
  // 409 where the upstream takes keys; without keys it is below.
  [409, 409, 'ambiguous', 'ambiguous'],
  [425, 425, 'unavailable', 'unavailable'],
  [429, 429, 'throttled', 'throttled'],
  [400, 499, 'refused', 'refused'],
  [503, 503, 'unavailable', 'throttled'],
  [500, 599, 'ambiguous', 'ambiguous'],
];

function tabled(status: number, retryAfter: boolean): Verdict {
  const line = TABLE.find(([from, to]) => from <= status && status <= to);
  assert(line, `status ${status} is not in the table`);
  return retryAfter ? line[3] : line[2];
}

describe('the verdict table', () => {
  for (const [from, to, without, withRetryAfter] of TABLE)
    it(`${from === to ? from : `${from} to ${to}`}: ${without}, with Retry-After ${withRetryAfter}`, () => {
      for (let status = from; status <= to; status++) {
        for (const retryAfter of [false, true])
          assert.equal(
            verdictOf(answered(status), { idempotency: KEYS, verdicts: {} }, retryAfter),
            tabled(status, retryAfter),
            String(status),
          );
      }
    });

  it('without keys, 409 is a refusal, and no other status means anything else', () => {
    for (let status = 100; status <= 599; status++) {
      for (const retryAfter of [false, true])
        assert.equal(
          verdictOf(answered(status), { idempotency: null, verdicts: {} }, retryAfter),
          status === 409 ? 'refused' : tabled(status, retryAfter),
          String(status),
        );
    }
  });

  for (const [name, end, verdict] of [
    ['a refused connection', { kind: 'unconnected', code: 'ECONNREFUSED' }, 'unavailable'],
    ['a name that is not found', { kind: 'unconnected', code: 'ENOTFOUND' }, 'unavailable'],
    ['a TLS failure', { kind: 'unconnected', code: 'CERT_HAS_EXPIRED' }, 'unavailable'],
    ['a timeout', { kind: 'unanswered', code: 'TIMEOUT' }, 'ambiguous'],
    ['a reset', { kind: 'unanswered', code: 'ECONNRESET' }, 'ambiguous'],
    ['a success that is cut off', answered(201, false), 'ambiguous'],
    ['a refusal that is cut off', answered(422, false), 'ambiguous'],
    ['a fault of the lane that is cut off', answered(401, false), 'ambiguous'],
    ['a 503 that is cut off', answered(503, false), 'ambiguous'],
    ['a 429 that is cut off, since its status and headers came whole,', answered(429, false), 'throttled'],
  ] as const)
    it(`${name} is ${verdict}`, () => {
      assert.equal(verdictOf(end, { idempotency: KEYS, verdicts: {} }, false), verdict);
      assert.equal(verdictOf(end, { idempotency: null, verdicts: {} }, false), verdict);
    });

  it('a 503 with Retry-After that is cut off is throttled, too', () => {
    assert.equal(verdictOf(answered(503, false), { idempotency: KEYS, verdicts: {} }, true), 'throttled');
  });

  it('a policy reclassifies the statuses that it names, and no others', () => {
    const policy = {
      idempotency: KEYS,
      verdicts: { '202': 'ambiguous', '404': 'unavailable', '420': 'throttled', '503': 'ambiguous' },
    } as const;
    for (let status = 100; status <= 599; status++) {
      for (const retryAfter of [false, true]) {
        const named = Object.entries(policy.verdicts).find(([name]) => name === String(status))?.[1];
        assert.equal(
          verdictOf(answered(status), policy, retryAfter),
          named ?? tabled(status, retryAfter),
          String(status),
        );
      }
    }
  });

  it('a cut-off answer stays ambiguous, whatever its status was reclassified as', () => {
    const policy = { idempotency: KEYS, verdicts: { '404': 'succeeded' } } as const;
    assert.equal(verdictOf(answered(404, false), policy, false), 'ambiguous');
  });
});

describe('how an end is told', () => {
  for (const [end, told] of [
    [answered(429), '429'],
    [answered(201, false), '201 with its answer cut off'],
    [{ kind: 'unconnected', code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
    [{ kind: 'unanswered', code: 'TIMEOUT' }, 'TIMEOUT'],
  ] as const)
    it(`as ${told}`, () => {
      assert.equal(endedAs(end), told);
    });
});
