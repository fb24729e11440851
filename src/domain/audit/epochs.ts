import { type LoggedCall, type Tolerance, groupBy, uncertaintyMs } from './calls.ts';
import { type Check, Findings } from './checks.ts';
import type { LaneEpoch, Opening } from './contents.ts';
import type { Beside } from './open-calls.ts';

/** How a lane went from holder to holder, as far as the logs know. */
export interface Succession {
  /** epochs that some process opened, and wrote so */
  readonly epochs: number;
  /** between the first and the last of these, nobody's log has so many: its file may be missing here */
  readonly epochsWithoutLog: number;
  /** a holder came after one that had not handed over: it was killed, frozen or cut off */
  readonly takeovers: number;
  readonly handovers: number;
  /** after each takeover the first call, if it was alone */
  readonly mayProbe: ReadonlySet<LoggedCall>;
}

/**
 * @param openings and handovers, of one lane
 * @param calls of that lane, in the order of departure
 */
export function succession(
  openings: readonly Opening[],
  handovers: readonly LaneEpoch[],
  calls: readonly LoggedCall[],
  beside: Beside,
): Succession {
  const epochs = [...new Set(openings.map(({ epoch }) => epoch))].sort((a, b) => a - b);
  const handedOver = new Set(handovers.map(({ epoch }) => epoch));
  const after = epochs.slice(1);
  const tookOver = new Set(after.filter((_, i) => !handedOver.has(epochs[i] ?? NaN)));
  return {
    epochs: epochs.length,
    epochsWithoutLog: epochs.length === 0 ? 0 : (epochs.at(-1) ?? 0) - (epochs[0] ?? 0) + 1 - epochs.length,
    takeovers: tookOver.size,
    handovers: after.length - tookOver.size,
    mayProbe: firstAndAlone(calls, epochs, tookOver, beside),
  };
}

function firstAndAlone(
  calls: readonly LoggedCall[],
  epochs: readonly number[],
  tookOver: ReadonlySet<number>,
  beside: Beside,
): ReadonlySet<LoggedCall> {
  const firstOf = new Map<number, number>();
  for (const [position, { epoch }] of calls.entries()) if (!firstOf.has(epoch)) firstOf.set(epoch, position);
  const found = new Set<LoggedCall>();
  let inTheDark = false;
  for (const epoch of epochs) {
    inTheDark ||= tookOver.has(epoch);
    const position = firstOf.get(epoch);
    // Who took over and handed on without a call has learned nothing, so the next one is as much in the dark.
    if (position === undefined) continue;
    const call = calls[position];
    const next = calls[position + 1];
    if (inTheDark && call !== undefined && isAlone(call, next, beside)) found.add(call);
    inTheDark = false;
  }
  return found;
}

/** @param next the call that left after it */
function isAlone(call: LoggedCall, next: LoggedCall | undefined, beside: Beside): boolean {
  const joined = next !== undefined && beside.get(next)?.includes(call) === true;
  return beside.get(call)?.length === 0 && !joined;
}

/**
 * One holder at a time: calls of two epochs are never open together, a holder never calls again once the next
 * one has, and no epoch has two holders.
 */
export function checkEpochs(openings: readonly Opening[], beside: Beside, tolerance: Tolerance): Check {
  const findings = new Findings();
  findShared(openings, findings);
  findMixed(beside, tolerance, findings);
  return findings.check;
}

function findShared(openings: readonly Opening[], findings: Findings): void {
  for (const [epoch, holders] of groupBy(openings, (opening) => opening.epoch)) {
    if (new Set(holders.map(({ nonce }) => nonce)).size === 1) continue;
    const names = holders.map(({ process }) => process).join(', ');
    findings.add(`epoch ${epoch} had several holders: ${names}`, () => []);
  }
}

function findMixed(beside: Beside, tolerance: Tolerance, findings: Findings): void {
  /** by host, the first call of the newest epoch that has called */
  const newest = new Map<string, LoggedCall>();
  for (const [call, others] of beside) {
    const foreign = others.filter(({ epoch }) => epoch !== call.epoch);
    if (foreign.length > 0) findings.add('calls of two holders were open at once', () => [...foreign, call]);
    const next = [...newest.values()].find(
      (other) =>
        other.epoch > call.epoch &&
        other.leftAt + uncertaintyMs(other.host, call.host, tolerance) < call.leftAt,
    );
    if (next !== undefined) findings.add('a holder called after the next one had', () => [next, call]);
    if (call.epoch > (newest.get(call.host)?.epoch ?? -1)) newest.set(call.host, call);
  }
}
