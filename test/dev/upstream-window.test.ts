import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { maxInAnyWindow, QuotaDoor } from '../../src/dev/upstream/window.ts';

/** Quarters of a millisecond are exact in binary, and small numbers make arrivals meet a window's very edge. */
const quarter = fc.integer({ min: 0, max: 4_000 }).map((n) => n / 4);
const times = fc.array(quarter, { maxLength: 40 });
const perMs = fc.integer({ min: 1, max: 800 }).map((n) => n / 4);

function mostByBruteForce(arrivals: readonly number[], per: number): number {
  const inWindowEndingAt = (t: number): number => arrivals.filter((a) => a > t - per && a <= t).length;
  return Math.max(0, ...arrivals.map(inWindowEndingAt));
}

describe('the most arrivals in any window', () => {
  it('is what counting every window one by one finds', () => {
    fc.assert(
      fc.property(times, perMs, (arrivals, per) => {
        assert.equal(maxInAnyWindow(arrivals, per), mostByBruteForce(arrivals, per));
      }),
    );
  });

  it('leaves out an arrival exactly one period old, and has the one just younger', () => {
    assert.equal(maxInAnyWindow([0, 1000], 1000), 1);
    assert.equal(maxInAnyWindow([0.25, 1000], 1000), 2);
  });

  it('is 0 where nothing arrived', () => {
    assert.equal(maxInAnyWindow([], 1000), 0);
  });
});

describe('the quota at the door', () => {
  const quota = fc.record({ requests: fc.integer({ min: 1, max: 6 }), perMs });
  const ascending = times.map((arrivals) => arrivals.toSorted((a, b) => a - b));

  it('turns an arrival away exactly when it is one too many, those turned away counted', () => {
    fc.assert(
      fc.property(ascending, quota, (arrivals, granted) => {
        const door = new QuotaDoor(granted);
        for (const [i, t] of arrivals.entries()) {
          const inWindow = arrivals.slice(0, i + 1).filter((a) => a > t - granted.perMs).length;
          assert.equal(door.arrive(t) !== undefined, inWindow > granted.requests);
        }
      }),
    );
  });

  it('asks for no less than lets one arrival in again, and for less than a second more', () => {
    fc.assert(
      fc.property(ascending, quota, quarter, (arrivals, granted, beforeMs) => {
        const doorAfter = (waitMs: number): number | undefined => {
          const door = new QuotaDoor(granted);
          for (const t of arrivals) door.arrive(t);
          return door.arrive((arrivals.at(-1) ?? 0) + waitMs);
        };
        const door = new QuotaDoor(granted);
        const retryAfter = arrivals.map((t) => door.arrive(t)).at(-1);
        fc.pre(retryAfter !== undefined);
        assert.equal(doorAfter(retryAfter * 1000), undefined);
        const wholeSecondEarlier = (retryAfter - 1) * 1000 - beforeMs;
        if (wholeSecondEarlier >= 0) assert.notEqual(doorAfter(wholeSecondEarlier), undefined);
      }),
    );
  });

  it('answers whole seconds, rounded up', () => {
    const door = new QuotaDoor({ requests: 1, perMs: 2000 });
    assert.equal(door.arrive(0), undefined);
    assert.equal(door.arrive(0.25), 2);
    const slow = new QuotaDoor({ requests: 2, perMs: 2500 });
    slow.arrive(0);
    slow.arrive(1000);
    assert.equal(slow.arrive(1001), 3);
  });
});
