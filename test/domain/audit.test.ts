import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { maxInAnyWindow } from '../../src/dev/upstream/window.ts';
import { type LoggedCall, countedAt } from '../../src/domain/audit/calls.ts';
import { checkWindow } from '../../src/domain/audit/window.ts';
import { EARLY_MS, FIVE_A_SECOND, answered, changed, kill, laneOf, movable } from './audit-cases.ts';
import { auditOf, hostOf } from './audit-logs.ts';
import { type Step, simulate, simulationArbitrary } from './audit-simulator.ts';

describe('a lane that keeps its promises', () => {
  it('is found clean, whatever befalls it', () => {
    fc.assert(
      fc.property(simulationArbitrary, (simulation) => {
        const report = auditOf(simulation);
        assert(report.clean, JSON.stringify(report, null, 1));
        assert.equal(
          report.lanes.reduce((sum, lane) => sum + lane.calls, 0),
          simulation.calls.length,
        );
      }),
      { numRuns: 100 },
    );
  });

  it('is found clean under any clocks of its hosts, if their skew is told', () => {
    const skewed = fc.record({ simulation: simulationArbitrary, ahead: fc.integer({ min: -200, max: 200 }) });
    fc.assert(
      fc.property(skewed, ({ simulation, ahead }) => {
        const report = auditOf(simulation, Math.abs(ahead), { [hostOf(1)]: ahead });
        assert(report.clean, JSON.stringify(report, null, 1));
      }),
      { numRuns: 100 },
    );
  });

  it('is described in numbers', () => {
    const lane = laneOf(
      auditOf(
        simulate(
          FIVE_A_SECOND,
          Array.from({ length: 51 }, () => answered),
        ),
      ),
    );
    assert.deepEqual(lane.verdicts, {
      succeeded: 51,
      throttled: 0,
      unavailable: 0,
      ambiguous: 0,
      refused: 0,
      laneFault: 0,
    });
    assert.equal(lane.keys, 1);
    assert.equal(lane.withoutEnd, 0);
    assert.equal(lane.mostInAnyWindow, 5);
    assert.equal(lane.mostOpen, 1);
    assert(Math.abs((lane.meanLatencyMs ?? NaN) - 50) < 0.01, String(lane.meanLatencyMs));
    // Five at once, then a second's pause: 10 times (1000 + 50) ms for 50 calls.
    assert(Math.abs((lane.callsPerSecond ?? NaN) - 50 / 10.5) < 0.001, String(lane.callsPerSecond));
    assert(Math.abs((lane.shareOfReachable ?? NaN) - 1) < 0.001, String(lane.shareOfReachable));
  });

  it('tells the most of any moment, not of the last one', () => {
    const rules = { ...FIVE_A_SECOND, maxInFlight: 3 };
    const steps = [answered, answered, answered, { ...answered, idleMs: 5_000 }];
    const lane = laneOf(auditOf(simulate(rules, steps)));
    assert.deepEqual([lane.mostInAnyWindow, lane.mostOpen], [3, 2]);
  });

  it('has no share of what can be reached where the limit changed on the way', () => {
    const lane = laneOf(
      auditOf(simulate(FIVE_A_SECOND, [answered, { kind: 'override', requests: 3 }, answered])),
    );
    assert.equal(lane.shareOfReachable, null);
    assert.notEqual(lane.callsPerSecond, null);
  });

  it('that made no call is clean, without numbers', () => {
    const lane = laneOf(auditOf(simulate(FIVE_A_SECOND, [])));
    assert.deepEqual([lane.calls, lane.meanLatencyMs, lane.callsPerSecond], [0, null, null]);
  });

  it('is told apart by how its holders followed each other', () => {
    const lane = laneOf(
      auditOf(simulate(FIVE_A_SECOND, [answered, kill, answered, { kind: 'handover' }, answered])),
    );
    assert.deepEqual([lane.epochs, lane.takeovers, lane.handovers, lane.epochsWithoutLog], [3, 1, 1, 0]);
  });

  it('says how many holders’ logs are missing', () => {
    const simulation = simulate(FIVE_A_SECOND, [answered, kill, answered, kill, answered]);
    const lane = laneOf(
      auditOf({ ...simulation, epochs: simulation.epochs.filter(({ epoch }) => epoch !== 2) }),
    );
    assert.equal(lane.epochsWithoutLog, 1);
  });
});

describe('the window', () => {
  it('any call that leaves earlier than it allows is found', () => {
    fc.assert(
      fc.property(simulationArbitrary, fc.nat(), (simulation, choice) => {
        const calls = movable(simulation, 'windowAllowed');
        const call = calls[choice % calls.length];
        fc.pre(call !== undefined);
        const report = auditOf(changed(simulation, call, { left: call.left - EARLY_MS }));
        assert(!laneOf(report).checks.window.ok && !report.clean);
      }),
      { numRuns: 100 },
    );
  });

  it('what is found names the calls that were too many', () => {
    const simulation = simulate({ ...FIVE_A_SECOND, requests: 2 }, [answered, answered, answered]);
    const last = simulation.calls[2];
    assert(last !== undefined);
    const { window } = laneOf(auditOf(changed(simulation, last, { left: last.left - 1 }))).checks;
    assert.equal(window.found, 1);
    assert.equal(
      window.violations[0]?.says,
      '3 calls may have arrived within 1000 ms, where the limit was 2',
    );
    assert.deepEqual(
      window.violations[0].calls.map(({ call }) => call),
      ['1:0', '1:1', '1:2'],
    );
  });

  it('a lane that broke it without end is counted to the end, and listed up to a hundred', () => {
    const simulation = simulate(
      { ...FIVE_A_SECOND, requests: 1 },
      Array.from({ length: 151 }, () => answered),
    );
    const calls = simulation.calls.map((call) => ({ ...call, left: call.left - 1 }));
    const { window } = laneOf(auditOf({ ...simulation, calls })).checks;
    assert.deepEqual([window.found, window.violations.length], [150, 100]);
  });

  it('a call without an end counts when its timeout is over, and so does one that ended unanswered', () => {
    for (const unanswered of [kill, undefined]) {
      const first: Step = unanswered === undefined ? { kind: 'lost', idleMs: 0, key: 0, after: 0 } : answered;
      const steps = [first, ...(unanswered === undefined ? [] : [{ ...kill, after: 0 }]), answered];
      const simulation = simulate({ ...FIVE_A_SECOND, requests: 1 }, steps);
      assert(auditOf(simulation).clean);
      const second = simulation.calls[1];
      assert(second !== undefined);
      assert.equal(second.left, 1_500);
      assert(!laneOf(auditOf(changed(simulation, second, { left: 1_499 }))).checks.window.ok);
    }
  });

  it('where arrivalWithin is declared, a call counts from its departure plus that', () => {
    const rules = { ...FIVE_A_SECOND, requests: 1, arrivalWithinMs: 20 };
    const simulation = simulate(rules, [answered, answered]);
    assert.deepEqual(
      simulation.calls.map(({ left }) => left),
      [0, 1_020],
    );
    assert(auditOf(simulation).clean);
  });

  const instant = fc.nat(400);
  const anyCalls = fc.array(fc.tuple(instant, fc.nat(60), fc.boolean()), {
    minLength: 1,
    maxLength: 12,
    size: 'max',
  });
  it('any calls that pass can have arrived in no way that breaks the quota', () => {
    const placed = fc.tuple(
      anyCalls,
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.nat(60), { minLength: 12, maxLength: 12 }),
    );
    let passed = 0;
    fc.assert(
      fc.property(placed, ([raw, requests, delays]) => {
        const calls = raw.map(callOf(requests)).sort((a, b) => a.leftAt - b.leftAt);
        if (!checkWindow(calls, { clockSkewMs: 0 }).check.ok) return;
        passed++;
        const arrivals = calls.map((call, i) => Math.min(countedAt(call), call.leftAt + (delays[i] ?? 0)));
        assert(maxInAnyWindow(arrivals, 100) <= requests);
      }),
      { numRuns: 3_000 },
    );
    assert(passed > 100, `only ${passed} passed, which is too few to tell`);
  });
});

const callOf =
  (requests: number) =>
  ([leftAt, latency, unanswered]: [number, number, boolean], i: number): LoggedCall => ({
    id: String(i),
    lane: 'releases',
    epoch: 1,
    key: 'a',
    attempt: 1,
    sha256: '',
    lookup: false,
    probe: false,
    leftAt,
    process: 'p',
    host: 'h',
    terms: {
      limit: { requests, perMs: 100, burst: 1, arrivalWithinMs: null },
      maxInFlight: 9,
      timeoutMs: 60,
    },
    answeredAt: unanswered ? null : leftAt + latency,
    end: null,
  });
