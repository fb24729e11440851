import type { Limit } from './policy.ts';

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
  readonly #limit: Limit;
  readonly #timeoutMs: number;
  /** in the order of departure */
  #calls: Call[] = [];
  /** when the schedule allows the next call; the past when it was quiet */
  #dueMs = -Infinity;

  constructor(limit: Limit, timeoutMs: number) {
    this.#limit = limit;
    this.#timeoutMs = timeoutMs;
  }

  /** Takes it that a whole window's worth of calls was answered just now: what is safe when nothing is known. */
  assumeFullWindow(nowMs: number): void {
    this.#calls = Array.from({ length: this.#limit.requests }, () => ({ leftMs: nowMs, countedMs: nowMs }));
    // Waiting for the window is a quiet time, for `burst`, but no stall: nothing of it is made good.
    this.#dueMs = nowMs + this.#limit.perMs - (this.#limit.burst - 1) * this.#spacingMs;
  }

  /** The earliest moment for the next call; Infinity while only the answer to an open call can tell. */
  nextAtMs(): number {
    return Math.max(this.#dueMs, this.#windowAllowsMs());
  }

  #windowAllowsMs(): number {
    const old = this.#calls.slice(0, Math.max(0, this.#calls.length - (this.#limit.requests - 1)));
    return old.reduce((latest, call) => Math.max(latest, call.countedMs + this.#limit.perMs), -Infinity);
  }

  get #spacingMs(): number {
    return this.#limit.perMs / this.#limit.requests;
  }

  /** Records that a call leaves now. The caller has asked `nextAtMs` before, at this very moment. */
  leave(nowMs: number): OpenCall {
    const catchUp = Math.max(CATCH_UP_SPACINGS, this.#limit.burst - 1);
    this.#dueMs = Math.max(this.#dueMs, nowMs - catchUp * this.#spacingMs) + this.#spacingMs;
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
