/** What an attempt's end means, for its item and for its lane. */
export const VERDICTS = ['succeeded', 'throttled', 'unavailable', 'ambiguous', 'refused', 'laneFault'] as const;
export type Verdict = (typeof VERDICTS)[number];
