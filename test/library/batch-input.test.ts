import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type BatchInput, asBatch } from '../../src/library/batch-input.ts';

it('a batch that JavaScript gives no list of items is refused in words', () => {
  const batch: BatchInput = JSON.parse('{"batchId": "b", "lane": "releases"}');
  assert.throws(() => asBatch(batch), {
    name: 'BatchRefusedError',
    message: 'items: expected a list of items, got undefined',
  });
});
