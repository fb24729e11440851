/** The numbers of the demo that more than one of its parts needs. */

export const LANE = 'releases';

/** What the upstream grants and what the lane is told, one and the same. */
export const QUOTA = { requests: 5, perMs: 1_000 } as const;

export const LATENCY_MS = 20;

/** Short, so that the late answer does not make the demo long; long enough for a busy machine's stalls. */
export const TIMEOUT_MS = 2_000;

/** Later than the timeout, so that nobody is there any more to read the answer. */
export const LATE_MS = TIMEOUT_MS + 1_000;

/** Long enough for the breaker to close the lane, which then finds out by probing. */
export const CLOSED_MS = 1_500;
