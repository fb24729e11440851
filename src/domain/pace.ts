import type { Limit } from './policy.ts';
import { type PaceWindow, callsIn, groupAges } from './pace-window.ts';

/**
 * What of a stall is made good, in spacings, when `burst` allows no more: enough for a pause of the garbage
 * collector at ten calls a second, too little to look like a burst.
 */
const CATCH_UP_SPACINGS = 2;

/** A call that left, and from when on the window counts it. Times are of the lane's monotonic clock, in ms. */
interface Call {
  readonly leftMs: number;
  /** Infinity while the call is open: until then it may arrive at any moment */
  countedMs: number;
}

/**
 * When the next call may leave. Two rules, and both must allow:
 *
 * - Schedule: one call per `perMs / requests`, kept as a schedule rather than as a distance from the last
 *   call, so that a stall can be made good.
 * - Window, the guarantee: of all calls but the last `requests` - 1, each was answered at least `perMs` ago.
 *   A request arrives somewhere between leaving and being answered, so whichever window of `perMs` the
 *   upstream counts, it finds at most `requests` arrivals in it. Pacing by departures alone does not hold
 *   that: one slow arrival followed by a quick one are closer together at the upstream's door than here.
 *
 * The most that can be reached is therefore `requests / (perMs + latency)`.
 */
export class Pace {
  #limit: Limit;
  readonly #timeoutMs: number;
  /** every call that some window may still hold */
  #calls: Call[] = [];
  /** when the schedule allows the next call; the past when it was quiet */
  #dueMs = -Infinity;
  #lastLeftMs = -Infinity;

  constructor(limit: Limit, timeoutMs: number) {
    this.#limit = limit;
    this.#timeoutMs = timeoutMs;
  }

  /** Goes on under another limit. What has left so far still counts, also as part of what may be caught up. */
  changeLimit(limit: Limit): void {
    this.#limit = limit;
    this.#dueMs = Math.max(this.#dueMs, this.#soonestAfter(this.#lastLeftMs));
  }

  /** Takes it that a whole window's worth of calls was answered just now: what is safe when nothing is known. */
  assumeFullWindow(nowMs: number): void {
    this.#assume(Array.from({ length: this.#limit.requests }, () => nowMs));
  }

  /** Goes on where another pace stopped, as of now: no time is assumed to have passed since. */
  continueFrom(window: PaceWindow, nowMs: number): void {
    if (window.perMs < this.#limit.perMs) return this.assumeFullWindow(nowMs);
    this.#assume(callsIn(window, nowMs));
  }

  /**
   * Goes on after another pace was lost: at least a whole lease has passed since its window was taken, and
   * until a call's timeout before the lease's end it may have called at full pace, unheard.
   */
  takeOverFrom(window: PaceWindow, leaseMs: number, nowMs: number): void {
    if (window.perMs < this.#limit.perMs) return this.assumeFullWindow(nowMs);
    this.#assume([...callsIn(window, nowMs - leaseMs), ...unheardCalls(window, leaseMs, nowMs)]);
  }

  #assume(countedMs: readonly number[]): void {
    this.#calls = countedMs.map((counted) => ({ leftMs: counted, countedMs: counted }));
    const spacing = spacingMs(this.#limit);
    // Waiting for the window is a quiet time, for `burst`, but no stall: nothing of it is made good.
    const quietMs = this.#windowAllowsMs() - (this.#limit.burst - 1) * spacing;
    this.#dueMs = Math.max(quietMs, Math.max(-Infinity, ...countedMs) + spacing);
  }

  /**
   * The calls that some window may still hold, as ages, to move with the lease.
   *
   * @param announced a limit that is about to be used: should this pace be lost, its successor must assume that it was
   */
  window(nowMs: number, announced: Limit = this.#limit): PaceWindow {
    this.#forget(nowMs);
    const counted = this.#calls.map(({ leftMs, countedMs }) => Math.min(countedMs, leftMs + this.#timeoutMs));
    return {
      ages: groupAges(counted.map((at) => Math.floor(nowMs - at))),
      requests: Math.max(this.#limit.requests, announced.requests),
      perMs: this.#limit.perMs,
      burst: Math.max(this.#limit.burst, announced.burst),
      timeoutMs: this.#timeoutMs,
    };
  }

  /** The earliest moment for the next call; Infinity while only the answer to an open call can tell. */
  nextAtMs(): number {
    return Math.max(this.#dueMs, this.#windowAllowsMs());
  }

  /** Of all calls, `requests` - 1 may count later than a window ago; the next newest decides. */
  #windowAllowsMs(): number {
    const newestFirst = this.#calls.map(({ countedMs }) => countedMs).sort((a, b) => b - a);
    const decisive = newestFirst[this.#limit.requests - 1];
    return decisive === undefined ? -Infinity : decisive + this.#limit.perMs;
  }

  /** Records that a call leaves now. The caller has asked `nextAtMs` before, at this very moment. */
  leave(nowMs: number): OpenCall {
    this.#dueMs = Math.max(this.#dueMs + spacingMs(this.#limit), this.#soonestAfter(nowMs));
    this.#lastLeftMs = nowMs;
    const { arrivalWithinMs } = this.#limit;
    const call: Call = {
      leftMs: nowMs,
      countedMs: arrivalWithinMs === null ? Infinity : nowMs + arrivalWithinMs,
    };
    this.#forget(nowMs);
    this.#calls.push(call);
    return {
      answered: (atMs) => {
        call.countedMs = Math.min(call.countedMs, atMs);
      },
      // The request may still be on its way; what we assume is that it arrives within its timeout or never.
      unanswered: () => {
        call.countedMs = Math.min(call.countedMs, call.leftMs + this.#timeoutMs);
      },
    };
  }

  /** How far the schedule may lie in the past after a call: what of a stall before it can still be made good. */
  #soonestAfter(leftMs: number): number {
    return leftMs - (catchUpSpacings(this.#limit) - 1) * spacingMs(this.#limit);
  }

  /** Drops what no window can hold any more. By age, not by count, so that a limit that changes has its history. */
  #forget(nowMs: number): void {
    this.#calls = this.#calls.filter((call) => call.countedMs + this.#limit.perMs > nowMs);
  }
}

/** How the pace learns what became of a call that left. One of the two is called, once. */
export interface OpenCall {
  answered(atMs: number): void;
  unanswered(): void;
}

function spacingMs({ perMs, requests }: Pick<Limit, 'perMs' | 'requests'>): number {
  return perMs / requests;
}

/** How many calls may leave at once beyond the first. With it, x ms hold at most x / spacing + 1 + this departures. */
function catchUpSpacings({ burst }: Pick<Limit, 'burst'>): number {
  return Math.max(CATCH_UP_SPACINGS, burst - 1);
}

/**
 * The calls that a lost pace may have made after its window was last heard of, each counted as late as it can
 * have arrived. Within a lease, it let calls leave until their timeout could no longer end before it, and in
 * any x ms at most x / spacing + 1 + catch-up of them; a call arrives at most its timeout after it left.
 * So of those calls the newest arrived before now, and the k-th newest a spacing before the one after it,
 * once the catch-up is used.
 */
function unheardCalls(window: PaceWindow, leaseMs: number, nowMs: number): number[] {
  const spacing = spacingMs(window);
  const atOnce = 1 + catchUpSpacings(window);
  const most = Math.min(
    window.requests,
    Math.floor(Math.max(0, leaseMs - window.timeoutMs) / spacing) + atOnce,
  );
  return Array.from({ length: most }, (_, k) => nowMs - Math.max(0, k + 1 - atOnce) * spacing).toReversed();
}
