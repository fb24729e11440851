import type { BatchCounts } from '../../domain/batch.ts';
import type { UpstreamTables } from '../upstream/database.ts';
import type { ArrivalRecord } from '../upstream/records.ts';
import { statsOf } from '../upstream/stats.ts';
import type { Quota } from '../upstream/window.ts';
import { EXPECTED, type Scenario, type Story } from './scenario.ts';

/** What came of a run. The first seven are Temporal's word, the others the upstream's own. */
export interface DemoReport {
  readonly seed: number;
  readonly accepted: number;
  readonly duplicate: number;
  readonly conflict: number;
  readonly rejected: number;
  readonly succeeded: number;
  readonly dead: number;
  readonly uncertain: number;
  /** rows in the upstream's database */
  readonly effects: number;
  readonly keysWithTwoEffects: number;
  readonly quota: Quota;
  /** calls that reached the upstream */
  readonly calls: number;
  readonly maxInAnyWindow: number;
  readonly maxInFlight: number;
  /** calls that came before a Retry-After had passed */
  readonly earlyCalls: number;
  /** the rate from first to last call, of `requests / (per + mean latency)`; 1 is all that can be reached */
  readonly utilisation: number;
  readonly faultsSeen: { readonly [kind: string]: number };
  readonly upstream429: number;
}

export function reportOf(
  scenario: Scenario,
  counts: BatchCounts,
  { arrivals, effects }: UpstreamTables,
  quota: Quota,
): DemoReport {
  const stats = statsOf(arrivals, effects, quota, 'keys');
  const { accepted, duplicate, conflict, rejected, succeeded, dead, uncertain } = counts;
  return {
    seed: scenario.seed,
    accepted,
    duplicate,
    conflict,
    rejected,
    succeeded,
    dead,
    uncertain,
    effects: stats.effects,
    keysWithTwoEffects: stats.keysWithTwoEffects,
    quota,
    calls: stats.arrivals,
    maxInAnyWindow: stats.maxInAnyWindow,
    maxInFlight: stats.maxInFlight,
    earlyCalls: earlyCalls(arrivals, scenario.stories),
    utilisation: Math.round(utilisation(arrivals, quota) * 1000) / 1000,
    faultsSeen: stats.faultsSeen,
    upstream429: stats.status429,
  };
}

/** Everything in a report that is not as promised, in sentences; nothing when all of it holds. */
export function brokenPromises(report: DemoReport, { stories }: Scenario): string[] {
  const broken: string[] = [];
  const expect = (what: string, expected: string, got: number, holds: boolean) => {
    if (!holds) broken.push(`${what}: expected ${expected}, got ${got}`);
  };
  const exactly = (what: keyof typeof EXPECTED) =>
    expect(what, String(EXPECTED[what]), report[what], report[what] === EXPECTED[what]);

  exactly('accepted');
  exactly('duplicate');
  exactly('conflict');
  exactly('rejected');
  exactly('succeeded');
  exactly('dead');
  exactly('uncertain');
  const { effects, succeeded, keysWithTwoEffects, earlyCalls: early, maxInAnyWindow, maxInFlight } = report;
  const { requests, perMs } = report.quota;
  expect('effects', `as many as succeeded, ${succeeded}`, effects, effects === succeeded);
  expect('keysWithTwoEffects', '0', keysWithTwoEffects, keysWithTwoEffects === 0);
  expect('maxInAnyWindow', `at most ${requests} in ${perMs} ms`, maxInAnyWindow, maxInAnyWindow <= requests);
  expect('maxInFlight', '1', maxInFlight, maxInFlight === 1);
  expect('earlyCalls', '0', early, early === 0);
  for (const [kind, times] of timesByKind(stories)) {
    const seen = report.faultsSeen[kind] ?? 0;
    expect(`faultsSeen.${kind}`, `at least ${times}`, seen, seen >= times);
  }
  return broken;
}

function timesByKind(stories: readonly Story[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { kind } of stories) times.set(kind, (times.get(kind) ?? 0) + 1);
  return times;
}

/** Counted from a throttled call's arrival, when its Retry-After was not even written: none can be missed, none invented. */
function earlyCalls(arrivals: readonly ArrivalRecord[], stories: readonly Story[]): number {
  const askedMs = new Map(stories.map((story) => [story.key, story]));
  let opensMs = -Infinity;
  let early = 0;
  for (const { key, fault, monotonicMs } of arrivals) {
    if (monotonicMs < opensMs) early++;
    const story = key === null ? undefined : askedMs.get(key);
    if (story !== undefined && fault === story.kind) opensMs = Math.max(opensMs, monotonicMs + story.askedMs);
  }
  return early;
}

/** @returns 0 when there were not two calls to measure between */
export function utilisation(arrivals: readonly ArrivalRecord[], { requests, perMs }: Quota): number {
  const first = arrivals[0];
  const last = arrivals.at(-1);
  if (!first || !last || last.monotonicMs <= first.monotonicMs) return 0;
  const rate = (arrivals.length - 1) / (last.monotonicMs - first.monotonicMs);
  return rate / (requests / (perMs + meanLatencyMs(arrivals)));
}

function meanLatencyMs(arrivals: readonly ArrivalRecord[]): number {
  const latencies = arrivals.flatMap(({ status, monotonicMs, endedMs }) =>
    status === null || endedMs === null ? [] : [endedMs - monotonicMs],
  );
  return latencies.length === 0 ? 0 : latencies.reduce((sum, ms) => sum + ms, 0) / latencies.length;
}
