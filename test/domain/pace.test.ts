import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Pace } from '../../src/domain/pace.ts';
import type { Limit } from '../../src/domain/policy.ts';

/** One call as chance has it. Times are whole milliseconds, so that sums are exact. */
interface Call {
  /** how long the lane has nothing to send before it */
  readonly quietMs: number;
  /** how long the process then stands still, and sees no answer */
  readonly stallMs: number;
  readonly latencyMs: number;
  /** where between leaving and being answered the request arrives; 0 to 1 */
  readonly arrivesAt: number;
  /** given up after the timeout, or reset before; it arrives at any moment up to the timeout, if it does */
  readonly lost: boolean;
}

interface Log {
  readonly departures: number[];
  readonly arrivals: number[];
}

const LIMIT: Limit = { requests: 5, perMs: 1_000, burst: 1, arrivalWithinMs: null };
const TIMEOUT_MS = 3_000;

/** Sends calls through a pace as a lane does: each in the first free slot, as soon as it may. */
function simulate(limit: Limit, maxInFlight: number, calls: readonly Call[]): Log {
  const pace = new Pace(limit, TIMEOUT_MS);
  const log: Log = { departures: [], arrivals: [] };
  const ends: { atMs: number; settle: () => void }[] = [];
  let nowMs = 0;
  /** The next call in flight ends. */
  const letOneEnd = () => {
    ends.sort((a, b) => a.atMs - b.atMs);
    const end = ends.shift();
    assert(end, 'the pace waits for the end of a call, and none is open');
    nowMs = Math.max(nowMs, end.atMs);
    end.settle();
  };
  pace.assumeFullWindow(nowMs);
  for (const call of calls) {
    const quietUntilMs = nowMs + call.quietMs;
    while (ends.some(({ atMs }) => atMs <= quietUntilMs)) letOneEnd();
    nowMs = quietUntilMs + call.stallMs;
    while (ends.some(({ atMs }) => atMs <= nowMs)) letOneEnd();
    while (ends.length >= maxInFlight) letOneEnd();
    for (let atMs = pace.nextAtMs(); atMs > nowMs; atMs = pace.nextAtMs()) {
      const firstEnd = Math.min(...ends.map((end) => end.atMs));
      if (firstEnd <= atMs) letOneEnd();
      else nowMs = Math.ceil(atMs);
    }
    const open = pace.leave(nowMs);
    log.departures.push(nowMs);
    const latencyMs = Math.min(call.latencyMs, TIMEOUT_MS);
    const inFlightMs = call.lost ? TIMEOUT_MS : latencyMs;
    const withinMs =
      limit.arrivalWithinMs === null ? inFlightMs : Math.min(inFlightMs, limit.arrivalWithinMs);
    log.arrivals.push(nowMs + Math.floor(call.arrivesAt * withinMs));
    const endsAtMs = nowMs + latencyMs;
    ends.push({
      atMs: endsAtMs,
      settle: call.lost ? () => open.unanswered() : () => open.answered(Math.max(endsAtMs, nowMs)),
    });
  }
  return log;
}

/** The most arrivals in any window (t - per, t], which is reached at an arrival. */
function mostInAWindow(arrivals: readonly number[], perMs: number): number {
  return Math.max(...arrivals.map((t) => arrivals.filter((at) => at > t - perMs && at <= t).length));
}

const anyLimit = fc
  .record({
    requests: fc.integer({ min: 1, max: 12 }),
    perMs: fc.constantFrom(1, 7, 100, 1_000, 60_000),
    burst: fc.integer({ min: 1, max: 12 }),
    arrivalWithinMs: fc.option(fc.integer({ min: 0, max: TIMEOUT_MS })),
  })
  .map((limit): Limit => ({ ...limit, burst: Math.min(limit.burst, limit.requests) }));

const mostlyNone = (most: number) => fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(most));
const anyCall: fc.Arbitrary<Call> = fc.record({
  quietMs: mostlyNone(2_000),
  stallMs: mostlyNone(2_000),
  latencyMs: fc.oneof(fc.nat(50), fc.nat(1_500), fc.constant(TIMEOUT_MS)),
  arrivesAt: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  lost: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
});
const anyCalls = fc.array(anyCall, { minLength: 1, maxLength: 60, size: 'max' });
const anyInFlight = fc.integer({ min: 1, max: 4 });

const prompt = (latencyMs: number): Call => ({
  quietMs: 0,
  stallMs: 0,
  latencyMs,
  arrivesAt: 1,
  lost: false,
});
const many = (count: number, latencyMs: number) => Array.from({ length: count }, () => prompt(latencyMs));

describe('the window, at the door of the upstream', () => {
  it('never holds more arrivals than the quota has requests, whatever the latencies, losses and stalls', () => {
    fc.assert(
      fc.property(anyLimit, anyInFlight, anyCalls, (limit, maxInFlight, calls) => {
        const { arrivals } = simulate(limit, Math.min(maxInFlight, limit.requests), calls);
        assert(mostInAWindow(arrivals, limit.perMs) <= limit.requests, arrivals.join(' '));
      }),
      { numRuns: 3_000 },
    );
  });

  it('holds when a slow arrival is followed by quick ones, which pacing by departure does not bear', () => {
    const slow = prompt(190);
    const quick: Call = { ...slow, arrivesAt: 0 };
    const { arrivals } = simulate(LIMIT, 1, [slow, ...Array.from({ length: 20 }, () => quick)]);
    assert.equal(mostInAWindow(arrivals, LIMIT.perMs), LIMIT.requests);
  });

  it('counts a call that nobody answered until its timeout, also when it was given up at once', () => {
    const limit = { ...LIMIT, requests: 1 };
    const lost: Call = { ...prompt(0), lost: true };
    const { departures } = simulate(limit, 1, [lost, prompt(0)]);
    assert.deepEqual(departures, [1_000, 1_000 + TIMEOUT_MS + 1_000]);
  });

  it('lets nothing leave on behalf of an open call: only its end can tell', () => {
    const pace = new Pace({ ...LIMIT, requests: 1 }, TIMEOUT_MS);
    const open = pace.leave(0);
    assert.equal(pace.nextAtMs(), Infinity);
    open.answered(400);
    assert.equal(pace.nextAtMs(), 1_400);
  });

  it('counts from departure plus arrivalWithin where that is declared', () => {
    const pace = new Pace({ ...LIMIT, requests: 1, arrivalWithinMs: 50 }, TIMEOUT_MS);
    const open = pace.leave(0);
    assert.equal(pace.nextAtMs(), 1_050);
    open.answered(400);
    assert.equal(pace.nextAtMs(), 1_050);
  });

  it('takes the earlier end of a call that is told twice', () => {
    const pace = new Pace({ ...LIMIT, requests: 1 }, TIMEOUT_MS);
    const open = pace.leave(0);
    open.answered(400);
    open.unanswered();
    assert.equal(pace.nextAtMs(), 1_400);
  });
});

describe('the schedule', () => {
  it('with no latency and no stalls, calls leave one per per/requests', () => {
    fc.assert(
      fc.property(anyLimit, (limit) => {
        const perMs = limit.requests * 100;
        const { departures } = simulate({ ...limit, perMs, burst: 1 }, 1, many(50, 0));
        assert.deepEqual(
          departures,
          departures.map((_, i) => perMs + i * 100),
        );
      }),
    );
  });

  it('after any stall at most two spacings, or burst - 1, are caught up', () => {
    fc.assert(
      fc.property(anyLimit, anyInFlight, anyCalls, (limit, maxInFlight, calls) => {
        const { departures } = simulate(limit, Math.min(maxInFlight, limit.requests), calls);
        const spacingMs = limit.perMs / limit.requests;
        const ahead = Math.max(2, limit.burst - 1);
        departures.forEach((from, i) => {
          departures.slice(i + 1).forEach((to, more) => {
            assert(more + 1 <= (to - from) / spacingMs + ahead + 1e-9, departures.join(' '));
          });
        });
      }),
      { numRuns: 1_000 },
    );
  });

  it('a stall is made good, by two calls and no more', () => {
    const calls = [...many(20, 0), { ...prompt(0), quietMs: 700 }, ...many(4, 0)];
    const { departures } = simulate(LIMIT, 1, calls);
    const stalledAt = departures[20] ?? NaN;
    assert.deepEqual(
      departures.slice(20).map((at) => at - stalledAt),
      [0, 0, 0, 200, 400],
    );
  });

  it('a starting lane may make its burst once its first window has passed, and bunches nothing else', () => {
    for (const [burst, atOnce] of [
      [1, 1],
      [2, 2],
      [5, 5],
    ] as const) {
      const { departures } = simulate({ ...LIMIT, burst }, 1, many(10, 0));
      assert.equal(departures.filter((at) => at === LIMIT.perMs).length, atOnce);
    }
  });

  it('burst allows as many calls back to back after a quiet time', () => {
    const calls = [...many(20, 0), { ...prompt(0), quietMs: 5_000 }, ...many(6, 0)];
    const { departures } = simulate({ ...LIMIT, burst: 5 }, 1, calls);
    const quietUntil = departures[20] ?? NaN;
    // After five the window is full.
    assert.deepEqual(
      departures.slice(20).map((at) => at - quietUntil),
      [0, 0, 0, 0, 0, 1_000, 1_000],
    );
  });
});

describe('the reach', () => {
  it('with any constant latency below the spacing, 99 % of requests / (per + latency) are used', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.nat(99), (requests, latencyMs) => {
        const perMs = requests * 100;
        const limit: Limit = { ...LIMIT, requests, perMs };
        const windows = 200;
        const { departures } = simulate(limit, 1, many(requests * windows + 1, latencyMs));
        const tookMs = (departures.at(-1) ?? NaN) - (departures[0] ?? NaN);
        const rate = (requests * windows) / tookMs;
        assert(rate >= (0.99 * requests) / (perMs + latencyMs), `${rate * perMs} of ${requests}`);
      }),
    );
  });

  it('a fresh pace that assumes a full window waits a whole one, and then calls at once', () => {
    fc.assert(
      fc.property(anyLimit, fc.nat(1e9), (limit, nowMs) => {
        const pace = new Pace(limit, TIMEOUT_MS);
        pace.assumeFullWindow(nowMs);
        assert.equal(pace.nextAtMs(), nowMs + limit.perMs);
      }),
    );
  });

  it('a fresh pace that assumes nothing calls at once', () => {
    assert.equal(new Pace(LIMIT, TIMEOUT_MS).nextAtMs(), -Infinity);
  });
});
