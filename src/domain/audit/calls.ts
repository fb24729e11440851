import type { Limit } from '../policy.ts';
import type { Verdict } from '../verdict.ts';

/** By what a holder goes, as far as it matters to the proof. */
export interface Terms {
  readonly limit: Limit;
  readonly maxInFlight: number;
  readonly timeoutMs: number;
}

/** One call, put together from its lines. Instants are epoch ms on the clock of its process. */
export interface LoggedCall {
  readonly id: string;
  readonly lane: string;
  readonly epoch: number;
  readonly key: string;
  readonly attempt: number;
  readonly sha256: string;
  readonly lookup: boolean;
  readonly probe: boolean;
  readonly leftAt: number;
  readonly process: string;
  readonly host: string;
  /** in force when it left */
  readonly terms: Terms;
  /** when its status came; null: it did not, or no log knows */
  readonly answeredAt: number | null;
  /** null: its process was killed, or its log cut off, before it ended */
  readonly end: LoggedEnd | null;
}

export interface LoggedEnd {
  readonly endedAt: number;
  readonly verdict: Verdict;
  readonly retryAfterMs: number | null;
}

/**
 * When the call was over at the latest, whatever its process noticed of it: a frozen process reads an answer
 * long after it was given. This is the assumption that the whole lane rests on: the upstream has received and
 * finished a call within its timeout.
 */
function timedOutAt({ leftAt, terms }: LoggedCall): number {
  return leftAt + terms.timeoutMs;
}

/** When the answer was there at the latest; null: there was none. */
export function answeredAt(call: LoggedCall): number | null {
  return call.answeredAt === null ? null : Math.min(call.answeredAt, timedOutAt(call));
}

/** From when on the window counts the call: it had arrived by then. */
export function countedAt(call: LoggedCall): number {
  const arrived = answeredAt(call) ?? timedOutAt(call);
  const { arrivalWithinMs } = call.terms.limit;
  return arrivalWithinMs === null ? arrived : Math.min(arrived, call.leftAt + arrivalWithinMs);
}

/** Until when the call was open. */
export function openUntil(call: LoggedCall): number {
  return Math.min(call.end?.endedAt ?? Infinity, timedOutAt(call));
}

/**
 * Instants are rounded to the microsecond, and a double of today's size adds a quarter of one: the difference of
 * two of them may be this much off.
 */
const ROUNDING_MS = 0.002;

/** What is no violation, since clocks may explain it. */
export interface Tolerance {
  /** how far apart two hosts' clocks may be, at most */
  readonly clockSkewMs: number;
}

/** By how much the difference between instants of these two hosts may be off. */
export function uncertaintyMs(host: string, other: string, { clockSkewMs }: Tolerance): number {
  return host === other ? ROUNDING_MS : ROUNDING_MS + clockSkewMs;
}

/** Whether one that comes earlier in the order of departure did leave earlier, whatever their clocks. */
export function surelyLeftBefore(other: LoggedCall, call: LoggedCall, tolerance: Tolerance): boolean {
  if (other.host === call.host) return true;
  return other.leftAt + uncertaintyMs(other.host, call.host, tolerance) <= call.leftAt;
}

/** In the order of departure. Of calls that left in one microsecond, those of one log stay in its order. */
export function byDeparture(calls: readonly LoggedCall[]): LoggedCall[] {
  return calls.toSorted((a, b) => a.leftAt - b.leftAt);
}

/** How many of these ascending instants are not after this one. */
export function countUpTo(ascending: readonly number[], instant: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? Infinity) <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Groups in the order in which their names first come. */
export function groupBy<T, N>(members: readonly T[], nameOf: (member: T) => N): Map<N, T[]> {
  const groups = new Map<N, T[]>();
  for (const member of members) {
    const group = groups.get(nameOf(member));
    if (group === undefined) groups.set(nameOf(member), [member]);
    else group.push(member);
  }
  return groups;
}
