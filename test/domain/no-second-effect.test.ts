import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { type Attempts, NO_ATTEMPTS, handOn, redriven } from '../../src/domain/attempts.ts';
import { type Terms, decide, nextStep } from '../../src/domain/next.ts';
import type { DeliveryPolicy } from '../../src/domain/policy.ts';
import { claimed, givenBack, rested, settle, settleLookup, settleLost } from '../../src/domain/settle.ts';
import { VERDICTS, type Verdict } from '../../src/domain/verdict.ts';
import { HOUR_MS, NOW, circumstances, evidence, policyWith } from './account.ts';
import { ModelUpstream } from './model-upstream.ts';

const anyPolicy = fc
  .record({
    budget: fc.option(fc.integer({ min: 1, max: 4 })),
    windowMs: fc.option(fc.constantFrom(60_000, HOUR_MS, 24 * HOUR_MS)),
    lookup: fc.boolean(),
  })
  .map(({ budget, windowMs, lookup }) =>
    policyWith({
      retry: { budget, initialMs: 1_000, maxMs: 60_000 },
      idempotency: windowMs === null ? null : { header: 'Idempotency-Key', windowMs },
      lookup: lookup ? { keyField: 'key' } : null,
    }),
  );

const anyEvent = fc.record({
  send: fc.constantFrom('lost', 'lost unclaimed', ...VERDICTS),
  /** what an ambiguous or lost call does to the upstream: at once, some time within its timeout, or never */
  applied: fc.constantFrom('now', 'late', 'never'),
  lookup: fc.constantFrom('tells', 'proves nothing', 'throttled'),
  redrive: fc.boolean(),
  /** taken back out of its backoff, and handed on at once to another activity */
  takenBack: fc.boolean(),
  // Also to just before the shortest key window ends.
  waitMs: fc.oneof(fc.constantFrom(0, 55_000), fc.nat(100), fc.nat(5 * HOUR_MS)),
});
type AnyEvent = typeof anyEvent extends fc.Arbitrary<infer Event> ? Event : never;

function termsOf(policy: DeliveryPolicy, changes: Partial<Terms> = {}): Terms {
  const lookupPath = policy.lookup === null ? null : '/effects/k';
  return { policy, deadlineMs: null, lookupPath, acceptRisk: false, ...changes };
}

/** Plays one item against an upstream that knows the truth, as the activity and a redriving operator would. */
class Play {
  readonly #policy: DeliveryPolicy;
  readonly #terms: Terms;
  readonly upstream: ModelUpstream;
  #account: Attempts = NO_ATTEMPTS;
  #attempt = 1;
  #nowMs = NOW;

  constructor(policy: DeliveryPolicy) {
    this.#policy = policy;
    this.#terms = termsOf(policy);
    this.upstream = new ModelUpstream(policy.idempotency?.windowMs ?? null);
  }

  /** False once the item has succeeded. */
  play(event: AnyEvent): boolean {
    this.#pass(event.waitMs);
    const around = circumstances({ nowMs: this.#nowMs });
    this.#account = settleLost(this.#account, this.#attempt, 0, this.#policy, NOW, around);
    const step = nextStep(this.#account, this.#terms, this.#nowMs);
    switch (step.kind) {
      case 'park':
        if (step.state === 'dead') assert.equal(this.upstream.mayBeDone, false, step.reason);
        if (event.redrive) this.#nextActivity(redriven(this.#account));
        return true;
      case 'rest':
        this.#retry(step.forMs, event);
        return true;
      case 'lookUp':
        return this.#lookUp(event);
      case 'send':
        return this.#send(event);
    }
  }

  #pass(ms: number): void {
    this.#nowMs += ms;
    this.upstream.until(this.#nowMs);
  }

  #nextActivity(account: Attempts): void {
    this.#account = account;
    this.#attempt = 1;
  }

  /** The server keeps a retry's delay, so at least that much time passes. */
  #retry(afterMs: number, { takenBack }: AnyEvent): void {
    this.#account = rested(givenBack(this.#account, this.#attempt), afterMs, this.#policy.timeoutMs);
    if (takenBack) return this.#nextActivity(handOn(this.#account));
    this.#attempt++;
    this.#pass(afterMs);
  }

  #lookUp(event: AnyEvent): boolean {
    const { lookup } = event;
    const around = circumstances({ nowMs: this.#nowMs });
    const told = this.upstream.done ? { kind: 'found' as const } : { kind: 'absent' as const, status: 404 };
    const reading = lookup === 'tells' ? told : { kind: 'noEvidence' as const, why: '500' };
    const verdict = { tells: 'succeeded', 'proves nothing': 'ambiguous', throttled: 'throttled' } as const;
    const asked = { ...evidence(this.#attempt, verdict[lookup]), call: 'lookup' as const };
    this.#account = settleLookup(this.#account, reading, verdict[lookup], asked, around);
    if (reading.kind === 'found') return false;
    if (reading.kind === 'absent') assert.equal(this.upstream.mayBeDone, false, 'believed too early');
    else this.#follow(verdict[lookup], event);
    return true;
  }

  #send(event: AnyEvent): boolean {
    const { send, applied } = event;
    if (send === 'lost unclaimed') {
      this.#lose();
      return true;
    }
    this.#account = claimed(this.#account, this.#attempt, 'worker-1', this.#nowMs);
    if (send === 'succeeded') {
      this.upstream.apply(this.#nowMs);
      return false;
    }
    if (send === 'ambiguous' || send === 'lost')
      this.upstream.receive(applied, this.#nowMs, this.#policy.timeoutMs);
    if (send === 'lost') {
      this.#lose();
      return true;
    }
    const around = circumstances({ nowMs: this.#nowMs });
    const seen = evidence(this.#attempt, send);
    this.#account = settle(this.#account, this.#attempt, send, seen, around);
    this.#follow(send, event);
    return true;
  }

  #lose(): void {
    this.#attempt++;
    this.#pass(0);
  }

  #follow(verdict: Verdict, event: AnyEvent): void {
    const next = decide(
      this.#account,
      verdict,
      this.#terms,
      circumstances({ nowMs: this.#nowMs, random: 0 }),
    );
    if (next.kind === 'retry') this.#retry(next.afterMs, event);
    else this.#account = givenBack(this.#account, this.#attempt++);
  }
}

describe('an item at an upstream of any kind', () => {
  it('has at most one effect, and is never dead with one, whatever is lost, late or redriven', () => {
    fc.assert(
      fc.property(anyPolicy, fc.array(anyEvent, { minLength: 1, maxLength: 40 }), (policy, events) => {
        const play = new Play(policy);
        for (const event of events) if (!play.play(event)) break;
        assert.ok(play.upstream.effectsInTheEnd <= 1, `${play.upstream.effectsInTheEnd} effects`);
      }),
      { numRuns: 10_000 },
    );
  });
});
