import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  EARLY_MS,
  FIVE_A_SECOND,
  answered,
  changed,
  kill,
  laneOf,
  movable,
  throttled,
} from './audit-cases.ts';
import { auditOf, hostOf } from './audit-logs.ts';
import {
  type SimulatedCall,
  type Step,
  openUntil,
  simulate,
  simulationArbitrary,
} from './audit-simulator.ts';

const early = (left: number): Partial<SimulatedCall> => ({ left, answered: left + 10, ended: left + 10 });

describe('calls in flight', () => {
  it('any call more than maxInFlight is found', () => {
    fc.assert(
      fc.property(simulationArbitrary, fc.nat(), (simulation, choice) => {
        const { calls } = simulation;
        const openAt = (call: SimulatedCall, i: number) =>
          [...calls.slice(0, i), call].filter((other) => openUntil(other) > call.left + 1);
        const full = calls.filter((call, i) => openAt(call, i).length >= call.rules.maxInFlight);
        const beside = full[choice % full.length];
        fc.pre(beside !== undefined);
        const extra = { ...beside, key: 'extra', left: beside.left + 0.5, answered: null, ended: null };
        const position = calls.indexOf(beside) + 1;
        const report = auditOf({ ...simulation, calls: calls.toSpliced(position, 0, extra) });
        assert(!laneOf(report).checks.inFlight.ok && !report.clean);
      }),
      { numRuns: 100 },
    );
  });
});

describe('Retry-After', () => {
  it('any call that leaves earlier than it allows is found, whichever its key', () => {
    const busy = simulationArbitrary.filter(({ calls }) => calls.some((call) => call.retryAfterMs !== null));
    fc.assert(
      fc.property(busy, fc.nat(), (simulation, choice) => {
        const { calls } = simulation;
        const first = (call: SimulatedCall) => calls.find(({ epoch }) => epoch === call.epoch) === call;
        const late = movable(simulation, 'retryAfterAllowed').filter((call) => !first(call));
        const call = late[choice % late.length];
        fc.pre(call !== undefined);
        const report = auditOf(changed(simulation, call, { left: call.left - EARLY_MS }));
        assert(!laneOf(report).checks.retryAfter.ok && !report.clean);
      }),
      { numRuns: 100 },
    );
  });

  it('after a crash the first call may be early, and is reported', () => {
    const lane = laneOf(auditOf(simulate(FIVE_A_SECOND, [throttled, kill, answered, answered])));
    assert(lane.checks.retryAfter.ok);
    assert.deepEqual(
      lane.earlyProbes.map(({ call }) => call),
      ['2:1'],
    );
  });

  it('and may still be when the one that took over handed on without a call', () => {
    const steps: Step[] = [throttled, kill, { kind: 'handover' }, answered];
    const lane = laneOf(auditOf(simulate(FIVE_A_SECOND, steps)));
    assert(lane.checks.retryAfter.ok);
    assert.deepEqual(
      lane.earlyProbes.map(({ call }) => call),
      ['3:1'],
    );
  });

  it('the second one may not', () => {
    const simulation = simulate(FIVE_A_SECOND, [throttled, kill, answered, answered]);
    const [, , second] = simulation.calls;
    assert(second !== undefined);
    assert(!laneOf(auditOf(changed(simulation, second, early(2_000)))).checks.retryAfter.ok);
  });

  it('nor may the first one after a handover by the one that probed', () => {
    const steps: Step[] = [throttled, kill, answered, { kind: 'handover' }, answered];
    const simulation = simulate(FIVE_A_SECOND, steps);
    const last = simulation.calls[2];
    assert(last !== undefined);
    assert(auditOf(simulation).clean);
    assert(!laneOf(auditOf(changed(simulation, last, early(2_000)))).checks.retryAfter.ok);
  });

  it('nor may the first one that is not alone', () => {
    const simulation = simulate({ ...FIVE_A_SECOND, maxInFlight: 2 }, [throttled, kill, answered]);
    const probe = simulation.calls[1];
    assert(probe !== undefined);
    assert.equal(laneOf(auditOf(simulation)).earlyProbes.length, 1);
    const calls = [...simulation.calls, { ...probe, ...early(probe.left + 1) }];
    const lane = laneOf(auditOf({ ...simulation, calls }));
    assert.equal(lane.checks.retryAfter.found, 2);
    assert.deepEqual(lane.earlyProbes, []);
  });

  it('nor may any after a handover, since its holder was told', () => {
    const simulation = simulate(FIVE_A_SECOND, [throttled, { kind: 'handover' }, answered]);
    const first = simulation.calls[1];
    assert(first !== undefined);
    assert(auditOf(simulation).clean);
    assert(!laneOf(auditOf(changed(simulation, first, early(2_000)))).checks.retryAfter.ok);
  });

  it('a frozen holder that reads the answer late does not close the lane for longer', () => {
    const simulation = simulate(FIVE_A_SECOND, [throttled, { kind: 'handover' }, answered]);
    const [ask, next] = simulation.calls;
    assert(ask !== undefined && next !== undefined);
    const frozen = changed(simulation, ask, { answered: 4_000, ended: 4_000 });
    assert(
      laneOf(auditOf(changed(frozen, next, early(5_499)))).checks.retryAfter.found === 1,
      'it was over by its timeout, at 500',
    );
    assert(laneOf(auditOf(changed(frozen, next, early(5_501)))).checks.retryAfter.ok);
  });

  it('of an answer that did not throttle is no promise', () => {
    const simulation = simulate(FIVE_A_SECOND, [answered, answered]);
    const [first] = simulation.calls;
    assert(first !== undefined);
    assert(auditOf(changed(simulation, first, { retryAfterMs: 60_000 })).clean);
  });
});

describe('bytes', () => {
  it('any key that was sent with another body is found', () => {
    fc.assert(
      fc.property(simulationArbitrary, fc.nat(), (simulation, choice) => {
        const { calls } = simulation;
        const repeated = calls.filter((call) =>
          calls.some((other) => other !== call && other.key === call.key),
        );
        const call = repeated[choice % repeated.length];
        fc.pre(call !== undefined);
        const report = auditOf(changed(simulation, call, { body: 'another' }));
        assert(!report.sameBytes.ok && !report.clean);
        assert(report.sameBytes.violations.every(({ says }) => says.includes(call.key)));
      }),
      { numRuns: 100 },
    );
  });
});

describe('holders', () => {
  it('any two that have calls open at once are found', () => {
    fc.assert(
      fc.property(simulationArbitrary, (simulation) => {
        const { calls } = simulation;
        const taking = calls.find((call, i) => {
          const before = calls[i - 1];
          return before !== undefined && before.epoch !== call.epoch && openUntil(before) > before.left + 1;
        });
        fc.pre(taking !== undefined);
        const before = calls[calls.indexOf(taking) - 1];
        assert(before !== undefined);
        const report = auditOf(
          changed(simulation, taking, { left: before.left + 0.5, answered: null, ended: null }),
        );
        assert(!laneOf(report).checks.epochs.ok && !report.clean);
      }),
      { numRuns: 100 },
    );
  });

  it('one that calls again after the next one has is found, even if never two are open', () => {
    const simulation = simulate(FIVE_A_SECOND, [answered, kill, answered, answered]);
    const last = simulation.calls[2];
    assert(last !== undefined);
    const { epochs } = laneOf(auditOf(changed(simulation, last, { epoch: 1 }))).checks;
    assert.deepEqual(
      epochs.violations.map(({ says }) => says),
      ['a holder called after the next one had'],
    );
  });

  it('two of one epoch are found', () => {
    const simulation = simulate(FIVE_A_SECOND, [answered]);
    const [epoch] = simulation.epochs;
    assert(epoch !== undefined);
    const { epochs } = laneOf(auditOf({ calls: [], epochs: [epoch, epoch] })).checks;
    assert.equal(epochs.violations[0]?.says, 'epoch 1 had several holders: process-1, process-1');
  });

  it('clocks that differ make no violation of what their skew can explain', () => {
    const simulation = simulate(FIVE_A_SECOND, [answered, { ...kill, after: 0 }, answered]);
    const offsets = { [hostOf(2)]: -100 };
    assert(!laneOf(auditOf(simulation, 0, offsets)).checks.epochs.ok);
    assert(!laneOf(auditOf(simulation, 99, offsets)).checks.epochs.ok);
    assert(laneOf(auditOf(simulation, 100, offsets)).checks.epochs.ok);
  });
});
