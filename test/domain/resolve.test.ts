import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Finding, Receipt } from '../../src/domain/delivery.ts';
import { type Claim, judgeClaim } from '../../src/domain/resolve.ts';

const CLAIM: Claim = {
  by: 'ada',
  reason: 'seen in their console',
  upstreamId: 'up-1',
  at: '2026-08-12T17:00:00.000Z',
  attempt: 3,
};

const LOOKED_UP: Receipt = {
  status: 200,
  upstreamId: 'up-1',
  replayed: false,
  foundBy: 'lookup',
  at: '2026-08-12T16:59:59.000Z',
  attempt: 2,
  by: null,
  reason: null,
};

function found(upstreamId: string | null): Finding {
  return { kind: 'found', receipt: { ...LOOKED_UP, upstreamId } };
}
const NO_EVIDENCE: Finding = { kind: 'noEvidence', why: 'TIMEOUT' };
const ABSENT: Finding = { kind: 'absent', at: CLAIM.at, status: 404 };

describe("an operator's word that an item is done", () => {
  for (const [what, finding] of [
    ['where the upstream cannot be asked', null],
    ['where asking it proves nothing', NO_EVIDENCE],
  ] as const)
    it(`stands alone ${what}, and the receipt says whose word it is, and of no answer`, () => {
      assert.deepEqual(judgeClaim(CLAIM, finding), {
        kind: 'stands',
        receipt: {
          status: null,
          upstreamId: 'up-1',
          replayed: false,
          foundBy: 'operator',
          at: CLAIM.at,
          attempt: 3,
          by: 'ada',
          reason: 'seen in their console',
        },
      });
    });

  it("stands with the lookup's evidence where that says the same, and keeps the name", () => {
    assert.deepEqual(judgeClaim(CLAIM, found('up-1')), {
      kind: 'stands',
      receipt: { ...LOOKED_UP, by: 'ada', reason: 'seen in their console' },
    });
  });

  for (const [claimed, foundId, kept] of [
    [null, 'up-1', 'up-1'],
    ['up-1', null, 'up-1'],
    [null, null, null],
  ] as const)
    it(`that gives ${claimed ?? 'no ID'} agrees with a lookup that gives ${foundId ?? 'none'}: ${kept ?? 'none'} is kept`, () => {
      const judged = judgeClaim({ ...CLAIM, upstreamId: claimed }, found(foundId));
      assert.equal(judged.kind === 'stands' && judged.receipt.upstreamId, kept);
    });

  it('is contradicted by a lookup that finds another, and both IDs are shown', () => {
    assert.deepEqual(judgeClaim(CLAIM, found('up-2')), {
      kind: 'contradicted',
      why: 'receipt.upstreamId: ada says "up-1", and the lookup says "up-2"',
    });
  });

  it('is contradicted by a lookup that finds nothing, with or without an ID', () => {
    assert.deepEqual(judgeClaim(CLAIM, ABSENT), {
      kind: 'contradicted',
      why: 'receipt: ada says that it is done as "up-1", and the lookup says that it is not (404)',
    });
    assert.deepEqual(judgeClaim({ ...CLAIM, upstreamId: null }, ABSENT), {
      kind: 'contradicted',
      why: 'receipt: ada says that it is done, and the lookup says that it is not (404)',
    });
  });

  it('never becomes a receipt without the name and the reason, nor one with another ID than was found', () => {
    const id = fc.option(fc.constantFrom('up-1', 'up-2', 'up-3'));
    const finding = fc.oneof(id.map(found), fc.constantFrom(null, NO_EVIDENCE, ABSENT));
    fc.assert(
      fc.property(id, finding, (upstreamId, asked) => {
        const judged = judgeClaim({ ...CLAIM, upstreamId }, asked);
        if (judged.kind === 'contradicted') return;
        const { by, reason, upstreamId: kept, foundBy } = judged.receipt;
        assert.deepEqual([by, reason], [CLAIM.by, CLAIM.reason]);
        assert.notEqual(asked?.kind, 'absent');
        assert.equal(foundBy, asked?.kind === 'found' ? 'lookup' : 'operator');
        const said = asked?.kind === 'found' ? asked.receipt.upstreamId : null;
        assert.equal(kept, said ?? upstreamId);
        if (said !== null && upstreamId !== null) assert.equal(said, upstreamId);
      }),
    );
  });
});
