import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { type Attempts, NO_ATTEMPTS, redriven } from '../../src/domain/attempts.ts';
import { nextStep } from '../../src/domain/next.ts';
import { riskOfRedrive } from '../../src/domain/redrive.ts';
import { HOUR_MS, NOW, policyWith } from './account.ts';

const WITH_KEYS = { policy: policyWith(), lookupPath: null };
const WITHOUT_KEYS = { policy: policyWith({ idempotency: null }), lookupPath: null };
const ASKABLE = {
  policy: policyWith({ idempotency: null, lookup: { keyField: 'key' } }),
  lookupPath: '/releases/a',
};

/** Something of it was perhaps applied, and nothing has told yet. */
function unresolved(firstSentAtMs: number | null): Attempts {
  return { ...NO_ATTEMPTS, unresolved: true, firstSentAtMs };
}

describe('a redrive risks a second effect', () => {
  it('where the upstream takes no keys, and an earlier attempt may have been applied', () => {
    assert.equal(
      riskOfRedrive(unresolved(NOW), WITHOUT_KEYS, NOW),
      'an earlier attempt may have been applied, and the upstream takes no idempotency keys',
    );
  });

  it('once the call could arrive after the key window, which runs from the first call that may have been applied', () => {
    const forgotten = 'an earlier attempt may have been applied, and the upstream may have forgotten its key';
    const { timeoutMs } = WITH_KEYS.policy;
    const lastMoment = NOW + 24 * HOUR_MS - timeoutMs - 1;
    assert.equal(riskOfRedrive(unresolved(NOW), WITH_KEYS, lastMoment), undefined);
    assert.equal(riskOfRedrive(unresolved(NOW), WITH_KEYS, lastMoment + 1), forgotten);
  });

  it('where nobody knows when the first call left', () => {
    assert.match(riskOfRedrive(unresolved(null), WITH_KEYS, NOW) ?? '', /may have forgotten its key/);
  });
});

describe('a redrive risks nothing', () => {
  it('where nothing of the item can have been applied, whatever the upstream', () => {
    for (const terms of [WITH_KEYS, WITHOUT_KEYS, ASKABLE])
      assert.equal(riskOfRedrive(NO_ATTEMPTS, terms, NOW + 1_000 * HOUR_MS), undefined);
  });

  it('where the upstream can be asked first, also without keys and however late', () => {
    for (const firstSentAtMs of [null, NOW])
      assert.equal(riskOfRedrive(unresolved(firstSentAtMs), ASKABLE, NOW + 1_000 * HOUR_MS), undefined);
  });
});

it('what is refused as a risk would park again, and is sent once the risk is accepted; the rest goes on at once', () => {
  const account = fc.record({
    unresolved: fc.boolean(),
    mayStillArrive: fc.boolean(),
    ambiguousThisRound: fc.boolean(),
    firstSentAtMs: fc.option(fc.integer({ min: NOW - 48 * HOUR_MS, max: NOW })),
    spent: fc.nat({ max: 9 }),
    refusal: fc.constantFrom(null, '422'),
  });
  fc.assert(
    fc.property(account, fc.constantFrom(WITH_KEYS, WITHOUT_KEYS, ASKABLE), (some, terms) => {
      const attempts = { ...NO_ATTEMPTS, ...some };
      const step = (acceptRisk: boolean) =>
        nextStep(redriven(attempts), { ...terms, deadlineMs: null, acceptRisk }, NOW);
      if (riskOfRedrive(attempts, terms, NOW) === undefined) assert.notEqual(step(false).kind, 'park');
      else {
        const parked = step(false);
        assert.equal(parked.kind === 'park' && parked.state, 'uncertain');
        assert.equal(step(true).kind, 'send');
      }
    }),
    { numRuns: 2_000 },
  );
});
