import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Attempts,
  NO_ATTEMPTS,
  afterReset,
  handOn,
  readAttempts,
  redriven,
} from '../../src/domain/attempts.ts';
import { type Terms, decide, nextStep } from '../../src/domain/next.ts';
import type { DeliveryPolicy } from '../../src/domain/policy.ts';
import { claimed, rested, settle, settleLookup } from '../../src/domain/settle.ts';
import type { Verdict } from '../../src/domain/verdict.ts';
import { HOUR_MS, NOW, circumstances, evidence, policyWith } from './account.ts';

const KEYS_ONLY = policyWith();
const LOOKUP_ONLY = policyWith({ idempotency: null, lookup: { keyField: 'key' } });
const KEYS_AND_LOOKUP = policyWith({ lookup: { keyField: 'key' } });
const NEITHER = policyWith({ idempotency: null });

function termsOf(policy: DeliveryPolicy, acceptRisk = false): Terms {
  return { policy, deadlineMs: null, lookupPath: policy.lookup && '/effects/k', acceptRisk };
}

function sent(verdict: Verdict, account: Attempts = NO_ATTEMPTS): Attempts {
  const attempt = account.settledAttempt + 1;
  const claim = claimed(account, attempt, 'worker-1', NOW);
  return settle(claim, attempt, verdict, evidence(attempt, verdict), circumstances());
}

function askedInVain(account: Attempts, verdict: Verdict = 'ambiguous'): Attempts {
  const asked = { ...evidence(1, verdict), call: 'lookup' as const, ended: '500' };
  return settleLookup(account, { kind: 'noEvidence', why: '500' }, verdict, asked, circumstances());
}

function foundAbsent(account: Attempts): Attempts {
  const asked = { ...evidence(1, 'succeeded'), call: 'lookup' as const, ended: '404' };
  return settleLookup(account, { kind: 'absent', status: 404 }, 'succeeded', asked, circumstances());
}

function step(account: Attempts, policy: DeliveryPolicy, acceptRisk = false, nowMs = NOW) {
  return nextStep(account, termsOf(policy, acceptRisk), nowMs);
}

const AMBIGUOUS = sent('ambiguous');
const RESTED = rested(AMBIGUOUS, KEYS_ONLY.timeoutMs, KEYS_ONLY.timeoutMs);

describe('after an ambiguous attempt', () => {
  it('an upstream with keys is called again under the key, within its window', () => {
    for (const policy of [KEYS_ONLY, KEYS_AND_LOOKUP])
      assert.deepEqual(step(AMBIGUOUS, policy), { kind: 'send' });
  });

  it('one with a lookup is asked, when no earlier call can arrive any more', () => {
    assert.deepEqual(step(AMBIGUOUS, LOOKUP_ONLY), { kind: 'rest', forMs: LOOKUP_ONLY.timeoutMs });
    assert.deepEqual(step(RESTED, LOOKUP_ONLY), { kind: 'lookUp' });
  });

  it('the retry of one with a lookup only comes after a whole timeout', () => {
    const next = decide(AMBIGUOUS, 'ambiguous', termsOf(LOOKUP_ONLY), circumstances({ random: 0 }));
    assert.deepEqual(next, { kind: 'retry', afterMs: LOOKUP_ONLY.timeoutMs });
  });

  it('a shorter rest does not count', () => {
    assert.equal(rested(AMBIGUOUS, KEYS_ONLY.timeoutMs - 1, KEYS_ONLY.timeoutMs).mayStillArrive, true);
  });

  it('one whose key window has passed is asked where it has a lookup, and a person where it has none', () => {
    const later = NOW + 25 * HOUR_MS;
    assert.deepEqual(step(RESTED, KEYS_AND_LOOKUP, false, later), { kind: 'lookUp' });
    const parked = step(RESTED, KEYS_ONLY, false, later);
    assert(parked.kind === 'park');
    assert.equal(parked.state, 'uncertain');
    assert.match(parked.reason, /key window has passed/);
  });

  it('one with neither parks as uncertain', () => {
    const parked = step(RESTED, NEITHER);
    assert(parked.kind === 'park');
    assert.equal(parked.state, 'uncertain');
  });

  it('a later refusal is no answer: it is looked up, else uncertain', () => {
    const refused = rested(sent('refused', AMBIGUOUS), KEYS_ONLY.timeoutMs, KEYS_ONLY.timeoutMs);
    assert.deepEqual(step(refused, KEYS_AND_LOOKUP), { kind: 'lookUp' });
    const parked = step(refused, KEYS_ONLY);
    assert(parked.kind === 'park');
    assert.equal(parked.state, 'uncertain');
    // Surely not applied, the refusal stands.
    assert.deepEqual(step(foundAbsent(refused), KEYS_AND_LOOKUP), {
      kind: 'park',
      state: 'dead',
      reason: '422 refused',
    });
  });
});

describe('a lookup', () => {
  it('that finds nothing lets the item be sent in the same attempt', () => {
    const absent = foundAbsent(RESTED);
    assert.deepEqual(step(absent, LOOKUP_ONLY), { kind: 'send' });
    assert.equal(absent.settledAttempt, RESTED.settledAttempt);
    assert.equal(absent.spent, RESTED.spent);
  });

  it('that proves nothing spends budget, is tried again, and parks as uncertain in the end', () => {
    let account = RESTED;
    let asked = 0;
    for (;;) {
      const next = step(account, LOOKUP_ONLY);
      if (next.kind === 'park') {
        assert.equal(next.state, 'uncertain');
        assert.match(next.reason, /^lookup: 500 ambiguous: its budget of 5 is spent; an earlier attempt may/);
        break;
      }
      assert.equal(next.kind, 'lookUp');
      account = askedInVain(account);
      asked++;
    }
    assert.equal(asked, 5);
    assert.equal(account.lookups, 5);
    assert.equal(account.byVerdict.ambiguous, 1);
  });

  it('that is throttled, or meets a fault of the lane, costs nothing', () => {
    for (const verdict of ['throttled', 'laneFault'] as const)
      assert.equal(askedInVain(RESTED, verdict).spent, RESTED.spent);
  });

  it('is made once more when the budget is spent: asking is no second effect', () => {
    const spent = { ...RESTED, spent: 5 };
    assert.deepEqual(step(spent, LOOKUP_ONLY), { kind: 'lookUp' });
    assert.deepEqual(step(spent, KEYS_AND_LOOKUP), { kind: 'lookUp' });
    assert.equal(step(askedInVain(spent), LOOKUP_ONLY).kind, 'park');
    assert.deepEqual(step(foundAbsent(spent), LOOKUP_ONLY), {
      kind: 'park',
      state: 'dead',
      reason: 'lookup: 404 answered: its budget of 5 is spent',
    });
  });
});

describe('an accepted risk', () => {
  const redrivenAgain = redriven(RESTED);

  it('lets an item be sent once more where the upstream can be asked nothing', () => {
    assert.equal(step(redrivenAgain, NEITHER).kind, 'park');
    assert.deepEqual(step(redrivenAgain, NEITHER, true), { kind: 'send' });
    const later = NOW + 25 * HOUR_MS;
    assert.deepEqual(step(redrivenAgain, KEYS_ONLY, true, later), { kind: 'send' });
  });

  it('does not cover what becomes ambiguous afterwards', () => {
    assert.equal(step(sent('ambiguous', redrivenAgain), NEITHER, true).kind, 'park');
    assert.equal(step(sent('throttled', redrivenAgain), NEITHER, true).kind, 'send');
    assert.equal(step(sent('unavailable', redrivenAgain), NEITHER, true).kind, 'send');
  });

  it('does not replace a lookup', () => {
    assert.equal(step(redrivenAgain, LOOKUP_ONLY, true).kind, 'rest');
  });

  it('is not inherited by a run that was reset', () => {
    assert.equal(step(afterReset(NOW), NEITHER, true).kind, 'park');
  });
});

describe('an account', () => {
  it('is handed on to another activity with its budget, its count of attempts and its doubts', () => {
    const account = sent('ambiguous', sent('unavailable'));
    const next = handOn(account);
    assert.deepEqual([next.before, next.settledAttempt, next.spent, next.unresolved], [2, 0, 2, true]);
    assert.deepEqual(next.recent, account.recent);
    assert.equal(readAttempts(undefined, 1, next), next);
  });

  it('gets a fresh budget by a redrive, and keeps what was learned', () => {
    const next = redriven(sent('ambiguous', sent('throttled')));
    assert.deepEqual([next.spent, next.failedProbes, next.throttled], [0, 0, 0]);
    assert.deepEqual([next.byVerdict.throttled, next.byVerdict.ambiguous], [1, 1]);
    assert.deepEqual([next.unresolved, next.firstSentAtMs, next.recent.length], [true, NOW, 2]);
  });

  it('keeps the first attempt and the last twenty', () => {
    let account = NO_ATTEMPTS;
    for (let i = 0; i < 30; i++) account = sent('throttled', account);
    assert.equal(account.first?.attempt, 1);
    assert.deepEqual(
      account.recent.map(({ attempt }) => attempt),
      Array.from({ length: 20 }, (_, i) => 11 + i),
    );
  });

  it('of a run that was reset doubts everything since its start', () => {
    assert.deepEqual(step(afterReset(NOW), KEYS_ONLY), { kind: 'send' });
    assert.equal(step(afterReset(NOW), LOOKUP_ONLY).kind, 'rest');
    assert.equal(step(afterReset(NOW), NEITHER).kind, 'park');
  });
});
