import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { PaceWindowSchema, callsIn, groupAges } from '../../src/domain/pace-window.ts';
import { Pace } from '../../src/domain/pace.ts';

/** More than are kept one by one. */
const anyAges = fc.array(fc.integer({ min: -10_000, max: 3_600_000 }), {
  minLength: 65,
  maxLength: 500,
});

/** As instants, if they were taken at 0, oldest first. */
function grouped(ages: readonly number[]): number[] {
  const window = { ages: groupAges(ages), requests: 1, perMs: 1, burst: 1, timeoutMs: 1 };
  return callsIn(window, 0);
}

describe('a window that moves with the lease', () => {
  it('holds as many calls as there were, none of them older than it is', () => {
    fc.assert(
      fc.property(anyAges, (ages) => {
        const was = ages.map((age) => -age).sort((a, b) => a - b);
        const moved = grouped(ages);
        assert.equal(moved.length, was.length);
        moved.forEach((at, i) => assert(at >= (was[i] ?? Infinity), `${at} for ${was[i]}`));
      }),
    );
  });

  it('is exact up to 64 calls', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { maxLength: 64 }), (ages) => {
        assert.deepEqual(
          grouped(ages),
          ages.map((age) => 0 - age).sort((a, b) => a - b),
        );
      }),
    );
  });

  it('fits a heartbeat however many calls it holds: under 4 KB of JSON at 10,000', () => {
    const pace = new Pace(
      { requests: 10_000, perMs: 3_600_000, burst: 10_000, arrivalWithinMs: null },
      6_000,
    );
    for (let i = 0; i < 10_000; i++) pace.leave(i * 359.987_654_321).unanswered();
    const json = JSON.stringify(pace.window(3_600_000));
    assert(json.length < 4_096, `${json.length} bytes`);
    const window = PaceWindowSchema.parse(JSON.parse(json));
    assert.equal(callsIn(window, 0).length, 10_000);
  });

  it('survives JSON, also with a call that is open: that one may still arrive until its timeout', () => {
    const pace = new Pace({ requests: 5, perMs: 1_000, burst: 1, arrivalWithinMs: null }, 300);
    pace.leave(0.5).answered(100.7);
    pace.leave(500);
    const window = PaceWindowSchema.parse(JSON.parse(JSON.stringify(pace.window(600))));
    assert.deepEqual(window.ages, [
      [499, 1],
      [-200, 1],
    ]);
  });

  it('forgets what no window can hold any more', () => {
    const pace = new Pace({ requests: 5, perMs: 1_000, burst: 1, arrivalWithinMs: null }, 300);
    pace.leave(0).answered(0);
    pace.leave(200).answered(200);
    assert.deepEqual(pace.window(1_000).ages, [[800, 1]]);
  });
});
