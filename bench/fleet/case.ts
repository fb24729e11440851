import type { Findings } from './findings.ts';

/** One situation in which the bench looks whether the fleet keeps its promises. */
export interface FleetCase {
  readonly name: string;
  /** one line, for `--list` */
  readonly about: string;
  /** it measures speed, so nothing else runs beside it */
  readonly alone: boolean;
  /** @param folder its own, empty */
  readonly run: (findings: Findings, folder: string) => Promise<void>;
}

/** What a takeover may cost beside the lease itself: asking around, taking up, the first call. */
export const TAKEOVER_MS = 3_000;
