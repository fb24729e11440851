/**
 * The most arrivals that any window (t - perMs, t] holds: what a quota of `requests / per` must not see
 * exceeded. Only windows that end at an arrival matter, since any other holds no more than one of these.
 *
 * @param times monotonic milliseconds of one process, in any order; two processes' times don't compare
 */
export function maxInAnyWindow(times: readonly number[], perMs: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  let oldest = 0;
  let most = 0;
  for (const [newest, t] of sorted.entries()) {
    while (hasLeft(sorted[oldest], t, perMs)) oldest++;
    most = Math.max(most, newest - oldest + 1);
  }
  return most;
}

/** One comparison for the door and for the referee, so that rounding can't make them disagree. */
function hasLeft(arrival: number | undefined, t: number, perMs: number): boolean {
  return arrival !== undefined && arrival <= t - perMs;
}

/** What an upstream grants: at most `requests` arrivals in any window of `perMs` milliseconds. */
export interface Quota {
  readonly requests: number;
  readonly perMs: number;
}

/** The quota at the upstream's own door. It starts empty with its process. */
export class QuotaDoor {
  readonly #quota: Quota;
  /** Arrivals in the current window, oldest first. */
  readonly #recent: number[] = [];

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  /**
   * Counts an arrival, also one that is turned away.
   *
   * @param nowMs monotonic, never less than at the last call
   * @returns undefined when it may enter, else the Retry-After: whole seconds, rounded up, until a single
   * arrival would be within the quota again
   */
  arrive(nowMs: number): number | undefined {
    const { requests, perMs } = this.#quota;
    this.#recent.push(nowMs);
    while (hasLeft(this.#recent[0], nowMs, perMs)) this.#recent.shift();
    if (this.#recent.length <= requests) return undefined;
    const mustLeaveFirst = this.#recent.at(-requests) ?? nowMs;
    return Math.max(1, Math.ceil((mustLeaveFirst + perMs - nowMs) / 1000));
  }
}
