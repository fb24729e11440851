import { type LoggedCall, type Tolerance, byDeparture, groupBy } from './audit/calls.ts';
import { type CallReference, type Check, Findings } from './audit/checks.ts';
import { checkEpochs, succession } from './audit/epochs.ts';
import { type Figures, figuresOf } from './audit/figures.ts';
import type { LaneEpoch, Opening, SendLogContents } from './audit/contents.ts';
import { checkInFlight, openBeside } from './audit/open-calls.ts';
import { checkRetryAfter } from './audit/retry-after.ts';
import { checkWindow } from './audit/window.ts';

export type { CallReference, Check, Violation } from './audit/checks.ts';

/** What the send logs of all replicas prove together. Instants are epoch ms, durations ms. */
export interface AuditReport {
  /** every check is ok */
  readonly clean: boolean;
  readonly lanes: readonly LaneAudit[];
  /** one operation per key: the same method, path and body on every attempt, whichever lane it went through */
  readonly sameBytes: Check;
}

export interface LaneAudit extends Figures {
  readonly lane: string;
  readonly epochs: number;
  /** more than 0: a file may be missing, and with it calls */
  readonly epochsWithoutLog: number;
  readonly takeovers: number;
  readonly handovers: number;
  /** calls that may have arrived in one window, at most */
  readonly mostInAnyWindow: number;
  readonly mostOpen: number;
  /** calls before Retry-After that the one allowed after a crash */
  readonly earlyProbes: readonly CallReference[];
  readonly checks: {
    readonly window: Check;
    readonly inFlight: Check;
    readonly retryAfter: Check;
    readonly epochs: Check;
  };
}

/**
 * Proves or disproves, from the send logs of all replicas, that every lane kept its promises.
 *
 * What it can't see: a call that no log given to it has. Assumed, as by the lane itself: the upstream has
 * received and finished a call within its timeout.
 */
export function audit(logs: readonly SendLogContents[], tolerance: Tolerance): AuditReport {
  const calls = byDeparture(logs.flatMap((log) => log.calls));
  const openings = logs.flatMap((log) => log.openings);
  const handovers = logs.flatMap((log) => log.handovers);
  const lanes = [...new Set(openings.map(({ lane }) => lane))].sort().map((lane) =>
    auditLane(
      lane,
      openings.filter((opening) => opening.lane === lane),
      handovers.filter((handover) => handover.lane === lane),
      calls.filter((call) => call.lane === lane),
      tolerance,
    ),
  );
  const sameBytes = checkSameBytes(calls);
  const clean = sameBytes.ok && lanes.every(({ checks }) => Object.values(checks).every(({ ok }) => ok));
  return { clean, lanes, sameBytes };
}

function auditLane(
  lane: string,
  openings: readonly Opening[],
  handovers: readonly LaneEpoch[],
  calls: readonly LoggedCall[],
  tolerance: Tolerance,
): LaneAudit {
  const beside = openBeside(calls, tolerance);
  const { mayProbe, ...holders } = succession(openings, handovers, calls, beside);
  const window = checkWindow(calls, tolerance);
  const inFlight = checkInFlight(beside);
  const retryAfter = checkRetryAfter(calls, mayProbe, tolerance);
  return {
    lane,
    ...figuresOf(calls),
    ...holders,
    mostInAnyWindow: window.most,
    mostOpen: inFlight.most,
    earlyProbes: retryAfter.earlyProbes,
    checks: {
      window: window.check,
      inFlight: inFlight.check,
      retryAfter: retryAfter.check,
      epochs: checkEpochs(openings, beside, tolerance),
    },
  };
}

function checkSameBytes(calls: readonly LoggedCall[]): Check {
  const findings = new Findings();
  const sent = calls.filter(({ lookup }) => !lookup);
  for (const [key, ofKey] of groupBy(sent, (call) => call.key)) {
    const [first] = ofKey;
    const other = ofKey.find(({ sha256 }) => sha256 !== first?.sha256);
    if (first !== undefined && other !== undefined)
      findings.add(`key ${key} was sent with another method, path or body`, () => [first, other]);
  }
  return findings.check;
}
