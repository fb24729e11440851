import assert from 'node:assert/strict';
import type { AuditReport, LaneAudit } from '../../src/domain/audit.ts';
import type { Rules, SimulatedCall, Simulation, Step } from './audit-simulator.ts';

export const FIVE_A_SECOND: Rules = {
  requests: 5,
  perMs: 1_000,
  arrivalWithinMs: null,
  maxInFlight: 1,
  timeoutMs: 500,
};
export const answered = { kind: 'answered', idleMs: 0, key: 0, latency: 0.1 } satisfies Step;
export const kill = { kind: 'kill', after: 0.5, forgets: true } satisfies Step;
export const throttled = {
  kind: 'throttled',
  idleMs: 0,
  key: 1,
  latency: 0.1,
  retryAfterMs: 5_000,
} satisfies Step;

export function laneOf(report: AuditReport): LaneAudit {
  const [lane, ...others] = report.lanes;
  assert(lane !== undefined && others.length === 0);
  return lane;
}

/** The simulation with one of its calls changed. */
export function changed(
  simulation: Simulation,
  call: SimulatedCall,
  change: Partial<SimulatedCall>,
): Simulation {
  return {
    ...simulation,
    calls: simulation.calls.map((each) => (each === call ? { ...each, ...change } : each)),
  };
}

/** By how much a call goes earlier than allowed: little, but more than the rounding of instants. */
export const EARLY_MS = 0.01;

/** The calls that left at the very moment that this rule allowed, and could have left a little earlier. */
export function movable(
  { calls }: Simulation,
  limitedBy: 'windowAllowed' | 'retryAfterAllowed',
): SimulatedCall[] {
  return calls.filter(
    (call, i) =>
      call.left === call[limitedBy] && call.left - EARLY_MS > Math.max(0, calls[i - 1]?.left ?? Infinity),
  );
}
