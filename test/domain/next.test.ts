import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { type Attempts, NO_ATTEMPTS } from '../../src/domain/attempts.ts';
import { type Next, type Terms, decide, nextStep } from '../../src/domain/next.ts';
import type { DeliveryPolicy } from '../../src/domain/policy.ts';
import { claimed, settle, settleLost } from '../../src/domain/settle.ts';
import { VERDICTS, type Verdict } from '../../src/domain/verdict.ts';
import { HOUR_MS, NOW, circumstances, evidence, policyWith } from './account.ts';

const WITHOUT_KEYS = policyWith({ idempotency: null });

function termsOf(policy: DeliveryPolicy, deadlineMs: number | null = null): Terms {
  return { policy, deadlineMs, lookupPath: null, acceptRisk: false };
}

function decided(
  account: Partial<Attempts>,
  verdict: Verdict,
  policy: DeliveryPolicy = policyWith(),
  changes: Parameters<typeof circumstances>[0] = {},
): Next {
  const settled = {
    ...NO_ATTEMPTS,
    recent: [evidence(1, verdict)],
    refusal: verdict === 'refused' ? '422' : null,
    ...account,
  };
  return decide(settled, verdict, termsOf(policy), circumstances(changes));
}

describe('what follows from an attempt', () => {
  it('succeeded ends the item', () => {
    assert.deepEqual(decided({}, 'succeeded'), { kind: 'succeeded' });
  });

  it('refused parks it as dead, by its status', () => {
    assert.deepEqual(decided({}, 'refused'), { kind: 'park', state: 'dead', reason: '422 refused' });
  });

  it('laneFault sends it back to the queue, at once', () => {
    assert.deepEqual(decided({}, 'laneFault'), { kind: 'retry', afterMs: 1 });
  });

  it('the last of its budget parks it as dead', () => {
    assert.equal(decided({ spent: 4 }, 'unavailable').kind, 'retry');
    assert.deepEqual(decided({ spent: 5 }, 'unavailable'), {
      kind: 'park',
      state: 'dead',
      reason: 'ECONNREFUSED unavailable: its budget of 5 is spent',
    });
  });

  it('with no budget written out it is tried for ever', () => {
    const policy = policyWith({ retry: { budget: null, initialMs: 1, maxMs: 2 } });
    assert.equal(decided({ spent: 1e6 }, 'unavailable', policy).kind, 'retry');
  });

  it('an ambiguous attempt is repeated under its key', () => {
    assert.equal(decided({ spent: 1, unresolved: true, firstSentAtMs: NOW }, 'ambiguous').kind, 'retry');
  });

  it('an ambiguous attempt parks as uncertain at once, where the upstream takes no keys', () => {
    assert.deepEqual(decided({ spent: 1, unresolved: true, firstSentAtMs: NOW }, 'ambiguous', WITHOUT_KEYS), {
      kind: 'park',
      state: 'uncertain',
      reason:
        "TIMEOUT ambiguous: the upstream takes no idempotency keys, so it can't be asked twice; an earlier attempt may have been applied",
    });
  });

  it('an ambiguous attempt is not repeated once its call could arrive after the key window', () => {
    const policy = policyWith();
    const account = { spent: 1, unresolved: true };
    const windowEnds = NOW - 24 * HOUR_MS + policy.timeoutMs;
    assert.equal(decided({ ...account, firstSentAtMs: windowEnds + 1 }, 'ambiguous').kind, 'retry');
    const late = decided({ ...account, firstSentAtMs: windowEnds }, 'ambiguous');
    assert(late.kind === 'park');
    assert.equal(late.state, 'uncertain');
    assert.match(
      late.reason,
      /^TIMEOUT ambiguous: the upstream's key window has passed since the first call/,
    );
  });

  it('the key window does not bind an item whose calls were all surely not applied', () => {
    assert.equal(decided({ spent: 1, firstSentAtMs: 0 }, 'unavailable').kind, 'retry');
  });
});

describe('an item that may have been applied', () => {
  const anyPolicy = fc
    .record({
      budget: fc.option(fc.integer({ min: 1, max: 4 })),
      keys: fc.boolean(),
    })
    .map(({ budget, keys }) =>
      policyWith({
        retry: { budget, initialMs: 1_000, maxMs: 60_000 },
        ...(keys ? {} : { idempotency: null }),
      }),
    );
  const anyStep = fc.record({
    ended: fc.constantFrom('lost', 'lost unclaimed', ...VERDICTS),
    probe: fc.boolean(),
    laterMs: fc.nat(5 * HOUR_MS),
    deadlinePassed: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
  });

  it('is never called dead, by any sequence of verdicts, losses and waits', () => {
    fc.assert(
      fc.property(anyPolicy, fc.array(anyStep, { minLength: 1, maxLength: 30 }), (policy, steps) => {
        let account = NO_ATTEMPTS;
        let attempt = 0;
        let nowMs = NOW;
        /** as the upstream could tell: a call may have been applied, and nothing has said so since */
        let mayBeDone = false;
        for (const { ended, probe, laterMs, deadlinePassed } of steps) {
          attempt += 1;
          nowMs += laterMs;
          const around = circumstances({ nowMs, probe });
          account = settleLost(account, attempt, 0, policy, NOW, around);
          const step = nextStep(account, termsOf(policy, deadlinePassed ? nowMs : null), nowMs);
          if (step.kind === 'park') {
            if (mayBeDone) assert.equal(step.state, 'uncertain');
            return;
          }
          assert.equal(step.kind, 'send');
          if (ended === 'lost unclaimed') continue;
          account = claimed(account, attempt, 'worker-1', nowMs);
          if (ended === 'lost') {
            mayBeDone = true;
            continue;
          }
          mayBeDone = ended !== 'succeeded' && (mayBeDone || ended === 'ambiguous');
          account = settle(account, attempt, ended, evidence(attempt, ended), around);
          const after = decide(account, ended, termsOf(policy), around);
          if (after.kind === 'retry') continue;
          if (after.kind === 'park' && mayBeDone) assert.equal(after.state, 'uncertain');
          return;
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it('says so in its reason, when it is refused later or its budget is spent', () => {
    for (const [verdict, spent] of [
      ['refused', 1],
      ['unavailable', 5],
    ] as const) {
      const after = decided({ unresolved: true, spent, firstSentAtMs: NOW }, verdict);
      assert(after.kind === 'park');
      assert.equal(after.state, 'uncertain');
      assert.match(after.reason, /; an earlier attempt may have been applied$/);
    }
  });
});

describe('whether an item may be tried', () => {
  it('a fresh one may', () => {
    assert.deepEqual(nextStep(NO_ATTEMPTS, termsOf(policyWith()), NOW), { kind: 'send' });
  });

  it('not from its deadline on', () => {
    assert.deepEqual(nextStep(NO_ATTEMPTS, termsOf(policyWith(), NOW + 1), NOW), { kind: 'send' });
    assert.deepEqual(nextStep(NO_ATTEMPTS, termsOf(policyWith(), NOW), NOW), {
      kind: 'park',
      state: 'dead',
      reason: 'its deadline, 2026-08-12T17:00:00.000Z, passed',
    });
  });

  it('not when lost workers have spent its budget', () => {
    const account = settleLost(NO_ATTEMPTS, 6, 0, policyWith(), NOW, circumstances());
    assert.deepEqual(nextStep(account, termsOf(policyWith()), NOW), {
      kind: 'park',
      state: 'uncertain',
      reason: 'WORKER_LOST ambiguous: its budget of 5 is spent; an earlier attempt may have been applied',
    });
  });
});

describe("a retry's delay", () => {
  const anyTime = fc.integer({ min: 1, max: 365 * 24 * HOUR_MS });

  it('is whole, finite, at least 1 ms and never ends before the lane opens', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('throttled', 'unavailable', 'ambiguous'),
        fc.oneof(fc.nat(20), fc.nat(1e9)),
        fc.oneof(fc.constantFrom(0, 1 - Number.EPSILON), fc.double({ min: 0, max: 1, noNaN: true })),
        fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e12, noNaN: true })),
        anyTime,
        anyTime,
        (verdict, spent, random, laneClosedForMs, initialMs, maxMs) => {
          const policy = policyWith({ retry: { budget: null, initialMs, maxMs } });
          const after = decided({ spent }, verdict, policy, { random, laneClosedForMs });
          assert(after.kind === 'retry');
          assert(Number.isSafeInteger(after.afterMs) && after.afterMs >= 1, String(after.afterMs));
          assert(after.afterMs >= laneClosedForMs);
        },
      ),
    );
  });

  it('has full jitter: anything up to the initial delay, doubled with each failure, up to the maximum', () => {
    for (const [spent, mostMs] of [
      [0, 1_000],
      [1, 1_000],
      [2, 2_000],
      [3, 4_000],
      [7, 60_000],
      [5_000, 60_000],
    ] as const) {
      const policy = policyWith({ retry: { budget: null, initialMs: 1_000, maxMs: 60_000 } });
      for (const random of [0, 0.25, 0.999]) {
        const after = decided({ spent }, 'unavailable', policy, { random });
        assert.deepEqual(after, { kind: 'retry', afterMs: Math.max(1, Math.ceil(random * mostMs)) });
      }
    }
  });

  it('of a throttled item is the lane’s alone', () => {
    assert.deepEqual(decided({ spent: 3 }, 'throttled', policyWith(), { laneClosedForMs: 2_000.5 }), {
      kind: 'retry',
      afterMs: 2_001,
    });
  });
});
