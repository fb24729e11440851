import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { type Attempts, NO_ATTEMPTS, lastEvidence, readAttempts } from '../../src/domain/attempts.ts';
import { type Circumstances, claimed, givenBack, settle, settleLost } from '../../src/domain/settle.ts';
import { VERDICTS, type Verdict } from '../../src/domain/verdict.ts';
import { HOUR_MS, NOW, circumstances, counts, evidence, policyWith } from './account.ts';

/** The account after one more claimed and settled attempt. */
function next(account: Attempts, verdict: Verdict, changes: Partial<Circumstances> = {}): Attempts {
  const attempt = account.settledAttempt + 1;
  const around = circumstances(changes);
  const sent = claimed(account, attempt, 'worker-1', around.nowMs);
  return settle(sent, attempt, verdict, evidence(attempt, verdict), around);
}

function times(count: number, verdict: Verdict, changes: Partial<Circumstances> = {}): Attempts {
  let account = NO_ATTEMPTS;
  for (let i = 0; i < count; i++) account = next(account, verdict, changes);
  return account;
}

const SPENDING: Verdict[] = ['unavailable', 'ambiguous'];

describe('the budget', () => {
  for (const verdict of VERDICTS)
    it(`${SPENDING.includes(verdict) ? 'is' : 'is not'} spent by ${verdict}`, () => {
      assert.equal(times(3, verdict).spent, SPENDING.includes(verdict) ? 3 : 0);
    });

  for (const verdict of SPENDING)
    it(`is not spent by probes that end as ${verdict}, until one key has failed so 20 times`, () => {
      assert.equal(times(20, verdict, { probe: true }).spent, 0);
      assert.equal(times(23, verdict, { probe: true }).spent, 3);
    });

  it('is not spent by throttling while nobody else succeeds, however often', () => {
    assert.equal(times(100, 'throttled').spent, 0);
  });

  it('is spent by throttling while others succeed, from the 21st time on', () => {
    assert.equal(times(20, 'throttled', { othersSucceed: true }).spent, 0);
    assert.equal(times(23, 'throttled', { othersSucceed: true }).spent, 3);
  });

  it('is never given back, and counts by verdict add up to the attempts', () => {
    const step = fc.tuple(fc.constantFrom(...VERDICTS), fc.boolean(), fc.boolean());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let account = NO_ATTEMPTS;
        for (const [verdict, probe, othersSucceed] of steps) {
          const after = next(account, verdict, { probe, othersSucceed });
          assert(after.spent === account.spent || after.spent === account.spent + 1);
          account = after;
        }
        const counted = Object.values(account.byVerdict).reduce((sum, count) => sum + count, 0);
        assert.equal(counted, steps.length);
        assert.equal(account.settledAttempt, steps.length);
      }),
    );
  });
});

describe('an ambiguous attempt', () => {
  it('stays unresolved until a success, whatever comes between', () => {
    const others = fc.array(fc.constantFrom('throttled', 'unavailable', 'refused', 'laneFault', 'ambiguous'));
    fc.assert(
      fc.property(others, (verdicts) => {
        let account = next(NO_ATTEMPTS, 'ambiguous');
        for (const verdict of verdicts) {
          account = givenBack(next(account, verdict), account.settledAttempt + 2);
          assert.equal(account.unresolved, true);
        }
        assert.equal(next(account, 'succeeded').unresolved, false);
      }),
    );
  });

  it('starts the key window when its call left', () => {
    const first = next(NO_ATTEMPTS, 'ambiguous', { nowMs: NOW });
    const second = next(first, 'ambiguous', { nowMs: NOW + HOUR_MS });
    assert.equal(first.firstSentAtMs, NOW);
    assert.equal(second.firstSentAtMs, NOW);
  });

  it('does not have the hours counted against its key window in which calls were surely not applied', () => {
    for (const verdict of ['throttled', 'unavailable', 'laneFault'] as const) {
      const hoursBefore = next(NO_ATTEMPTS, verdict, { nowMs: NOW - 30 * HOUR_MS });
      assert.equal(next(hoursBefore, 'ambiguous', { nowMs: NOW }).firstSentAtMs, NOW, verdict);
      const unsent = givenBack(claimed(hoursBefore, 2, 'worker-1', NOW - 20 * HOUR_MS), 2);
      assert.equal(next(unsent, 'ambiguous', { nowMs: NOW }).firstSentAtMs, NOW, verdict);
    }
  });

  it('keeps its window open through attempts that were given back', () => {
    const ambiguous = next(NO_ATTEMPTS, 'ambiguous', { nowMs: NOW - HOUR_MS });
    assert.equal(givenBack(claimed(ambiguous, 2, 'worker-1', NOW), 2).firstSentAtMs, NOW - HOUR_MS);
  });
});

describe('an attempt whose worker got lost', () => {
  const FIRST_SCHEDULED = NOW - HOUR_MS;
  const WITHOUT_KEYS = policyWith({ idempotency: null });
  const lost = (account: Attempts, attempt: number, policy = policyWith()) =>
    settleLost(account, attempt, 0, policy, FIRST_SCHEDULED, circumstances());

  it('is none where every attempt is accounted for', () => {
    const account = next(NO_ATTEMPTS, 'throttled');
    assert.deepEqual(lost(account, 2), account);
    assert.deepEqual(lost(NO_ATTEMPTS, 1), NO_ATTEMPTS);
    assert.deepEqual(lost(givenBack(account, 2), 3), givenBack(account, 2));
  });

  it('is ambiguous, spends budget and is evidence, where the upstream takes keys', () => {
    const account = lost(next(NO_ATTEMPTS, 'throttled'), 4);
    assert.deepEqual(account.byVerdict, counts({ throttled: 1, ambiguous: 2 }));
    assert.equal(account.spent, 2);
    assert.equal(account.unresolved, true);
    assert.equal(account.settledAttempt, 3);
    assert.deepEqual(lastEvidence(account), {
      call: 'send',
      attempt: 3,
      round: 0,
      at: '2026-08-12T17:00:00.000Z',
      verdict: 'ambiguous',
      ended: 'WORKER_LOST',
      retryAfter: null,
      body: '',
      holder: 'unknown',
    });
  });

  it('starts the key window with the first moment at which its call can have left', () => {
    assert.equal(lost(NO_ATTEMPTS, 2).firstSentAtMs, FIRST_SCHEDULED);
    assert.equal(lost(claimed(NO_ATTEMPTS, 1, 'worker-1', NOW - 7), 2).firstSentAtMs, NOW - 7);
  });

  it('was surely not sent without a claim, where the upstream takes no keys', () => {
    const account = lost(NO_ATTEMPTS, 4, WITHOUT_KEYS);
    assert.deepEqual(account, { ...NO_ATTEMPTS, settledAttempt: 3 });
  });

  it('may have been applied with a claim, where the upstream takes no keys', () => {
    const account = lost(claimed(NO_ATTEMPTS, 1, 'worker-1', NOW - 7), 2, WITHOUT_KEYS);
    assert.equal(account.unresolved, true);
    assert.deepEqual(account.byVerdict, counts({ ambiguous: 1 }));
    assert.equal(account.sendingAttempt, null);
  });

  it('is no more after a claim whose attempt was given back', () => {
    const account = givenBack(claimed(NO_ATTEMPTS, 1, 'worker-1', NOW), 1);
    assert.equal(lost(account, 3, WITHOUT_KEYS).unresolved, false);
  });
});

describe('the account that the server hands on', () => {
  it('comes back as it was, from JSON', () => {
    const account = lostAndFound(next(next(NO_ATTEMPTS, 'throttled'), 'ambiguous'));
    assert.deepEqual(readAttempts(lostAndFound(account), 3), account);
  });

  it('is empty where no attempt left one', () => {
    assert.deepEqual(readAttempts(undefined, 3), NO_ATTEMPTS);
  });

  it('that can not be read counts every attempt before as one that may have been applied, keys or not', () => {
    for (const details of [null, 'text', {}, { ...NO_ATTEMPTS, byVerdict: {} }]) {
      for (const policy of [policyWith(), policyWith({ idempotency: null })]) {
        const account = settleLost(readAttempts(details, 3), 3, 0, policy, NOW, circumstances());
        assert.equal(account.unresolved, true);
        assert.deepEqual(account.byVerdict, counts({ ambiguous: 2 }));
      }
    }
  });
});

function lostAndFound(account: Attempts): Attempts {
  return JSON.parse(JSON.stringify(account));
}
