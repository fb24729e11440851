import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding, Receipt } from '../../src/domain/delivery.ts';
import { compare } from '../../src/domain/reconcile.ts';

const here: Receipt = {
  status: 201,
  upstreamId: 'effect-1',
  replayed: false,
  foundBy: 'answer',
  at: '2026-08-12T17:00:00.000Z',
  attempt: 1,
  by: null,
  reason: null,
};

function found(upstreamId: string | null): Finding {
  return { kind: 'found', receipt: { ...here, upstreamId, status: 200, foundBy: 'lookup' } };
}

test('an item that succeeded here agrees with the upstream where that has it under the same ID, or tells none', () => {
  assert.deepEqual(compare(here, found('effect-1')), { kind: 'agrees' });
  assert.deepEqual(compare(here, found(null)), { kind: 'agrees' });
  assert.deepEqual(compare({ ...here, upstreamId: null }, found('effect-2')), { kind: 'agrees' });
});

test('absent there, or there under another ID, contradicts, and both sides are shown', () => {
  for (const there of [
    found('effect-2'),
    { kind: 'absent', at: '2026-08-13T00:00:00.000Z', status: 404 } as const,
  ])
    assert.deepEqual(compare(here, there), { kind: 'contradicts', here, there });
});

test('an answer that is no evidence contradicts nothing', () => {
  assert.deepEqual(compare(here, { kind: 'noEvidence', why: '500' }), { kind: 'unproven', why: '500' });
});
