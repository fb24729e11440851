/**
 * The time that a lane goes by. It is given to the lane consumer, so that a test under time skipping can move
 * it; everything else takes `realClock`.
 */
export interface Clock {
  /** never steps; for the pace and for how long a lane stays closed */
  monotonicMs(): number;
  /** what a calendar says; for deadlines and records only, since an administrator may step it */
  epochMs(): number;
  /** Resolves after `ms`, or early when the signal aborts, or earlier still: whoever waits looks again. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Node's timers fire at once beyond it. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const realClock: Clock = {
  monotonicMs: () => performance.now(),
  epochMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(Math.max(0, ms), LONGEST_TIMER_MS));
      signal.addEventListener('abort', done);
    }),
};
