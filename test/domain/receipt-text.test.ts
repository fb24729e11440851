import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Receipt } from '../../src/domain/delivery.ts';
import { describeReceipt } from '../../src/domain/receipt-text.ts';

const at = '2026-08-12T17:00:00.000Z';
const receipt: Receipt = {
  status: 201,
  upstreamId: 'eff_1',
  replayed: false,
  foundBy: 'answer',
  at,
  attempt: 2,
  by: null,
  reason: null,
};

const said: [string, Partial<Receipt>, string][] = [
  ['an answer', {}, `status 201, eff_1, by call 2 at ${at}`],
  ['an answer without an ID', { upstreamId: null }, `status 201, by call 2 at ${at}`],
  ['a replayed answer', { replayed: true }, `status 201, eff_1, replayed, by call 2 at ${at}`],
  [
    'a lookup',
    { status: 200, foundBy: 'lookup' },
    `status 200, eff_1, found by a lookup after call 2 at ${at}`,
  ],
  [
    "an operator's word",
    { status: null, upstreamId: null, foundBy: 'operator', by: 'ada', reason: 'seen there' },
    `found done by ada at ${at}: seen there`,
  ],
  [
    "an operator's word, with an ID",
    { status: null, foundBy: 'operator', by: 'ada', reason: 'seen there' },
    `eff_1, found done by ada at ${at}: seen there`,
  ],
];
for (const [what, fields, text] of said)
  it(`a receipt of ${what} is told in words`, () => {
    assert.equal(describeReceipt({ ...receipt, ...fields }), text);
  });
