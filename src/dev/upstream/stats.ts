import type { ArrivalRecord, EffectRecord, Mode } from './records.ts';
import { maxInAnyWindow, type Quota } from './window.ts';

export interface UpstreamStats {
  readonly mode: Mode;
  readonly quota: Quota;
  readonly arrivals: number;
  readonly effects: number;
  /** how many keys have more than one effect */
  readonly keysWithTwoEffects: number;
  /** the most arrivals in any window of `quota.perMs`, each run of the server by itself */
  readonly maxInAnyWindow: number;
  readonly maxInFlight: number;
  /** arrivals by the status they were answered, or `unanswered` */
  readonly byStatus: { readonly [status: string]: number };
  /** answers 429, of the quota and of the script together */
  readonly status429: number;
  /** answers 429 that the script or chance gave */
  readonly scripted429: number;
  readonly faultsSeen: { readonly [kind: string]: number };
}

/** Everything that can be said of an upstream's two tables, computed from nothing else. */
export function statsOf(
  arrivals: readonly ArrivalRecord[],
  effects: readonly EffectRecord[],
  quota: Quota,
  mode: Mode,
): UpstreamStats {
  const answered429 = arrivals.filter((arrival) => arrival.status === 429);
  const effectsByKey = countBy(effects, (effect) => effect.key);
  return {
    mode,
    quota,
    arrivals: arrivals.length,
    effects: effects.length,
    keysWithTwoEffects: Object.values(effectsByKey).filter((count) => count > 1).length,
    maxInAnyWindow: maxOverRuns(arrivals, quota.perMs),
    maxInFlight: arrivals.reduce((most, arrival) => Math.max(most, arrival.openRequests), 0),
    byStatus: countBy(arrivals, (arrival) => arrival.status?.toString() ?? 'unanswered'),
    status429: answered429.length,
    scripted429: answered429.filter((arrival) => arrival.fault !== null).length,
    faultsSeen: countBy(arrivals, (arrival) => arrival.fault),
  };
}

/** The most arrivals in any window, where every run of the server has a monotonic clock of its own. */
function maxOverRuns(arrivals: readonly ArrivalRecord[], perMs: number): number {
  const timesByRun = new Map<string, number[]>();
  for (const { run, monotonicMs } of arrivals) {
    const times = timesByRun.get(run);
    if (times) times.push(monotonicMs);
    else timesByRun.set(run, [monotonicMs]);
  }
  let most = 0;
  for (const times of timesByRun.values()) most = Math.max(most, maxInAnyWindow(times, perMs));
  return most;
}

function countBy<T>(rows: readonly T[], nameOf: (row: T) => string | null): Record<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const name = nameOf(row);
    if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}
