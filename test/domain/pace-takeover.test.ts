import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Limit } from '../../src/domain/policy.ts';
import { type CallPlan, type FleetOptions, type HoldPlan, type Sent, runFleet } from './fleet.ts';

/** For each window (w - per, w] at the upstream's door, whose end is an arrival: no more than its newest call's limit. */
function assertWithinLimits(sent: readonly Sent[], perMs: number): void {
  for (const { arrivedMs: end } of sent) {
    const within = sent.filter(({ arrivedMs }) => arrivedMs > end - perMs && arrivedMs <= end);
    const newest = within.reduce((a, b) => (b.leftMs >= a.leftMs ? b : a));
    assert(
      within.length <= newest.requests,
      `${within.length} arrivals in the window that ends at ${end}, of ${newest.requests}`,
    );
  }
}

function assertInFlight(sent: readonly Sent[], most: number): void {
  for (const { leftMs } of sent) {
    const open = sent.filter((other) => other.leftMs <= leftMs && other.endedMs > leftMs);
    assert(open.length <= most, `${open.length} calls open at ${leftMs}, of ${most}`);
  }
}

const sometimes = (most: number) => fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(most));

const anyOptions: fc.Arbitrary<FleetOptions> = fc
  .record({
    requests: fc.integer({ min: 1, max: 12 }),
    perMs: fc.constantFrom(100, 1_000, 7_000, 60_000),
    burst: fc.integer({ min: 1, max: 12 }),
    arrivalWithinMs: fc.option(fc.integer({ min: 0, max: 500 }), { freq: 5 }),
    timeoutMs: fc.integer({ min: 1, max: 2_500 }),
    spareMs: fc.integer({ min: 1_000, max: 6_000 }),
    maxInFlight: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ requests, perMs, burst, arrivalWithinMs, timeoutMs, spareMs, maxInFlight }) => ({
    limit: { requests, perMs, burst: Math.min(burst, requests), arrivalWithinMs },
    timeoutMs,
    leaseMs: 2 * timeoutMs + spareMs,
    maxInFlight,
  }));

const anyCall: fc.Arbitrary<CallPlan> = fc.record({
  quietMs: sometimes(2_000),
  latencyMs: fc.oneof(fc.nat(50), fc.nat(3_000)),
  arrivesAt: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  unanswered: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
});

const anyHold: fc.Arbitrary<HoldPlan> = fc.record({
  calls: fc.array(anyCall, { minLength: 1, maxLength: 25 }),
  startsAfterMs: sometimes(300),
  beatEveryMs: fc.integer({ min: 100, max: 1_000 }),
  heardAfterMs: sometimes(100),
  limits: fc.array(fc.record({ before: fc.nat(20), requests: fc.integer({ min: 1, max: 20 }) }), {
    maxLength: 2,
  }),
  end: fc.oneof(
    fc.constant({ kind: 'handedOver' as const }),
    fc.record({
      kind: fc.constant('lost' as const),
      at: fc.nat(25),
      answers: fc.boolean(),
      diesAfter: fc.oneof(fc.nat(10), fc.constant(300)),
    }),
  ),
});

const anyHolds = fc.array(anyHold, { minLength: 2, maxLength: 6 });

const LIMIT: Limit = { requests: 10, perMs: 1_000, burst: 1, arrivalWithinMs: null };
const OPTIONS: FleetOptions = { limit: LIMIT, timeoutMs: 2_000, leaseMs: 6_000, maxInFlight: 1 };
const PROMPT: CallPlan = { quietMs: 0, latencyMs: 0, arrivesAt: 0, unanswered: false };
const HOLD: HoldPlan = {
  calls: [],
  startsAfterMs: 0,
  beatEveryMs: 500,
  heardAfterMs: 0,
  limits: [],
  end: { kind: 'handedOver' },
};
const prompt = (count: number): CallPlan[] => Array.from({ length: count }, () => PROMPT);

/** A hold that raises its limit just before it is lost, so that perhaps no beat tells of it any more. */
const anyRaised: fc.Arbitrary<HoldPlan> = fc
  .record({
    hold: anyHold,
    at: fc.integer({ min: 1, max: 25 }),
    sooner: fc.integer({ min: 1, max: 3 }),
    low: fc.integer({ min: 1, max: 3 }),
    requests: fc.integer({ min: 10, max: 30 }),
    beatEveryMs: fc.integer({ min: 500, max: 3_000 }),
  })
  .map(({ hold, at, sooner, low, requests, beatEveryMs }) => ({
    ...hold,
    calls: prompt(25),
    beatEveryMs,
    limits: [
      { before: 0, requests: low },
      { before: at - sooner, requests },
    ],
    end: { kind: 'lost', at, answers: false, diesAfter: 300 },
  }));

describe('over any handovers and losses, at the door of the upstream', () => {
  it('no window holds more calls than the limit, with any arrivals, latencies, bursts and changed limits', () => {
    fc.assert(
      fc.property(anyOptions, anyHolds, (options, holds) => {
        assertWithinLimits(runFleet(options, holds), options.limit.perMs);
      }),
      { numRuns: 4_000 },
    );
  });

  it('no window holds more calls than the limit, also when it was raised just before its holder was lost', () => {
    fc.assert(
      fc.property(
        anyOptions,
        fc.array(anyRaised, { minLength: 1, maxLength: 3 }),
        anyHold,
        (options, raised, after) => {
          // Whoever comes next is told of the higher limit at once.
          const next = {
            ...after,
            limits: [{ before: 0, requests: raised.at(-1)?.limits[1]?.requests ?? 1 }],
          };
          assertWithinLimits(runFleet(options, [...raised, next]), options.limit.perMs);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('no more calls are open than maxInFlight', () => {
    fc.assert(
      fc.property(anyOptions, anyHolds, (options, holds) => {
        assertInFlight(runFleet(options, holds), options.maxInFlight);
      }),
      { numRuns: 500 },
    );
  });
});

function countUntil(sent: readonly Sent[], untilMs: number): number {
  return sent.filter(({ leftMs }) => leftMs <= untilMs).length;
}

describe('what a takeover costs', () => {
  /** After it the calls are spaced evenly; a lane's very first may be bunched. */
  const EVENLY: HoldPlan = { ...HOLD, calls: prompt(1) };
  /** A limit with a spacing of whole milliseconds, and a lease as rules.ts allows it. */
  const anySteady = fc
    .record({
      requests: fc.integer({ min: 2, max: 60 }),
      spacingMs: fc.integer({ min: 50, max: 1_000 }),
      timeoutMs: fc.integer({ min: 100, max: 3_000 }),
      spareMs: fc.integer({ min: 1_000, max: 5_000 }),
    })
    .map(({ requests, spacingMs, timeoutMs, spareMs }) => ({
      spacingMs,
      options: {
        limit: { ...LIMIT, requests, perMs: requests * spacingMs },
        timeoutMs,
        leaseMs: 2 * timeoutMs + spareMs,
        maxInFlight: 1,
      },
    }));

  it('of a steady holder at full pace that dies: at most the lease and three spacings of calls', () => {
    fc.assert(
      fc.property(
        anySteady,
        fc.integer({ min: 5, max: 100 }),
        fc.integer({ min: 100, max: 1_000 }),
        ({ options, spacingMs }, at, beatEveryMs) => {
          const dies = { ...HOLD, calls: prompt(at), beatEveryMs } satisfies HoldPlan;
          const end = { kind: 'lost', at, answers: false, diesAfter: 0 } as const;
          const untilMs = at * spacingMs + options.leaseMs + options.limit.perMs + 50 * spacingMs;
          const calls = prompt(Math.ceil(untilMs / spacingMs) + 10);
          const undisturbed = countUntil(runFleet(options, [EVENLY, { ...HOLD, calls }]), untilMs);
          const takenOver = runFleet(options, [EVENLY, { ...dies, end }, { ...HOLD, calls }]);
          const lost = undisturbed - countUntil(takenOver, untilMs);
          assert(lost <= options.leaseMs / spacingMs + 3, `${lost} calls lost`);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('of a handover: at most one spacing', () => {
    fc.assert(
      fc.property(anySteady, fc.integer({ min: 1, max: 100 }), ({ options, spacingMs }, at) => {
        const calls = prompt(at + 150);
        const untilMs = (at + 100) * spacingMs;
        const undisturbed = countUntil(runFleet(options, [EVENLY, { ...HOLD, calls }]), untilMs);
        const handedOver = runFleet(options, [EVENLY, { ...HOLD, calls: prompt(at) }, { ...HOLD, calls }]);
        const lost = undisturbed - countUntil(handedOver, untilMs);
        assert(lost <= 1, `${lost} calls lost`);
      }),
      { numRuns: 300 },
    );
  });

  it('with a quota per hour, a loss does not cost the hour', () => {
    const limit = { ...LIMIT, requests: 3_600, perMs: 3_600_000 };
    const sent = runFleet({ ...OPTIONS, limit }, [
      { ...HOLD, calls: prompt(30), end: { kind: 'lost', at: 30, answers: false, diesAfter: 0 } },
      { ...HOLD, calls: prompt(1) },
    ]);
    const [died, next] = sent.slice(-2).map(({ leftMs }) => leftMs);
    assert(died !== undefined && next !== undefined);
    assert(next - died <= 6_000 + 2_000, `${next - died} ms without a call`);
  });
});
