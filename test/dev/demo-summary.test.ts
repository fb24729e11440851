import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptsOf } from '../../src/dev/demo/summary.ts';
import type { Evidence } from '../../src/domain/evidence.ts';

const call = (verdict: Evidence['verdict']): Evidence => ({
  call: 'send',
  attempt: 1,
  round: 0,
  at: '2026-08-12T17:00:00.000Z',
  verdict,
  ended: '',
  retryAfter: null,
  body: '',
  holder: 'a',
});

test('what the calls of an item ended as is told in their order', () => {
  const trail = (
    ['throttled', 'unavailable', 'unavailable', 'ambiguous', 'unavailable', 'succeeded'] as const
  ).map(call);
  assert.equal(attemptsOf({ trail }), 'throttled, 2 unavailable, ambiguous, unavailable, succeeded');
});
