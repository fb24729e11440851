import type { CallEnd, Verdict } from './verdict.ts';

/** The lane's own backoff, which is also how often a closed lane probes: from 1 s, doubling, to 30 s. */
const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;
/** How many verdicts in a row make a judgement about the upstream rather than about items. */
const JUDGED_VERDICTS = 5;
/** Failures of fewer keys may be the items' own fault. */
const FAILING_KEYS = 3;
/** An upstream that refuses three connections in a row is away, whichever item asked. */
const UNCONNECTED_CALLS = 3;

/**
 * Whether calls may leave a lane at all.
 *
 * ```
 *            throttled, breaker                      until is past
 *   open ──────────────────────────▶ closed ──────────────────────────▶ probing
 *    ▲                                 ▲   throttled or failed again, doubling │
 *    │                                 └────────────────────────────────────┤
 *    └──────────────────────────────────────────────────────────────────────┘
 *            the probe was answered: succeeded or refused
 *
 *   any ── laneFault, a Retry-After beyond the maximum, refusals in a row ──▶ paused, until a person resumes it
 * ```
 *
 * It is plain data and pure functions, so that it can be stored and shared; `nowMs` is on whichever clock its
 * keeper uses throughout.
 */
export interface LaneState {
  /** never moves back */
  readonly closedUntilMs: number;
  readonly closedBecause: string;
  readonly pausedBecause: string | null;
  /** true from closing on until a probe was answered: the next call goes alone */
  readonly probing: boolean;
  readonly backoffMs: number;
  /** the newest verdicts on the upstream, at most five; throttling says nothing about its health */
  readonly recent: readonly RecentVerdict[];
  readonly unconnectedInARow: number;
}

interface RecentVerdict {
  readonly key: string;
  /** `failed`, `succeeded`, or `refused` with its status */
  readonly outcome: string;
}

/** What a call's end tells about its lane. */
export interface LaneReport {
  readonly key: string;
  readonly verdict: Verdict;
  readonly end: CallEnd;
  /** it was the call that went alone after the lane had been closed */
  readonly probe: boolean;
  /** null: the answer does not say usably when to come again */
  readonly retryAfterMs: number | null;
}

export const FRESH_LANE: LaneState = {
  closedUntilMs: -Infinity,
  closedBecause: '',
  pausedBecause: null,
  probing: false,
  backoffMs: 0,
  recent: [],
  unconnectedInARow: 0,
};

export function laneAfter(
  lane: LaneState,
  report: LaneReport,
  retryAfterMaxMs: number,
  nowMs: number,
): LaneState {
  switch (report.verdict) {
    case 'throttled':
      return afterThrottled(lane, report, retryAfterMaxMs, nowMs);
    case 'unavailable':
    case 'ambiguous':
      return afterFailure(lane, report, retryAfterMaxMs, nowMs);
    case 'laneFault':
      return paused(lane, `${describe(report)}: the upstream does not accept the lane's credentials`);
    case 'refused':
      return afterRefusal(afterAnswer(lane, report, `refused ${status(report)}`), report);
    case 'succeeded':
      return afterAnswer(lane, report, 'succeeded');
  }
}

function afterThrottled(
  lane: LaneState,
  report: LaneReport,
  retryAfterMaxMs: number,
  nowMs: number,
): LaneState {
  const connected = { ...lane, unconnectedInARow: 0 };
  const asked = report.retryAfterMs;
  // A Retry-After that proved too short is not believed twice in a row, only never undercut.
  if (asked !== null && !report.probe) return heeded(connected, report, asked, retryAfterMaxMs, nowMs);
  const backoffMs = leftBeforeClosing(lane, report) ? lane.backoffMs : nextBackoff(lane.backoffMs);
  const backedOff = closed({ ...connected, backoffMs }, nowMs + backoffMs, describe(report));
  return asked === null ? backedOff : heeded(backedOff, report, asked, retryAfterMaxMs, nowMs);
}

function afterFailure(
  lane: LaneState,
  report: LaneReport,
  retryAfterMaxMs: number,
  nowMs: number,
): LaneState {
  const unconnectedInARow = report.end.kind === 'unconnected' ? lane.unconnectedInARow + 1 : 0;
  const seen = { ...lane, unconnectedInARow, recent: remember(lane.recent, report.key, 'failed') };
  const asked = report.retryAfterMs;
  const kept = asked === null ? seen : heeded(seen, report, asked, retryAfterMaxMs, nowMs);
  if (leftBeforeClosing(lane, report) || !(report.probe || looksAway(seen))) return kept;
  const backoffMs = nextBackoff(lane.backoffMs);
  return closed({ ...kept, backoffMs }, nowMs + backoffMs, `${describe(report)}: the upstream looks away`);
}

/** Closed for as long as a Retry-After asks, whatever the status that came with it. */
function heeded(
  lane: LaneState,
  report: LaneReport,
  askedMs: number,
  retryAfterMaxMs: number,
  nowMs: number,
): LaneState {
  if (askedMs <= retryAfterMaxMs) return closed(lane, nowMs + askedMs, describe(report));
  const reason = `${describe(report)}: Retry-After asks for ${askedMs} ms, more than retryAfterMax (${retryAfterMaxMs} ms)`;
  return paused(lane, reason);
}

function looksAway({ recent, unconnectedInARow }: LaneState): boolean {
  if (unconnectedInARow >= UNCONNECTED_CALLS) return true;
  const allFailed = recent.length === JUDGED_VERDICTS && recent.every(({ outcome }) => outcome === 'failed');
  return allFailed && new Set(recent.map(({ key }) => key)).size >= FAILING_KEYS;
}

/** A wrong URL must not turn a backlog into dead letters. */
function afterRefusal(lane: LaneState, report: LaneReport): LaneState {
  const sameRefusal = lane.recent.every(({ outcome }) => outcome === `refused ${status(report)}`);
  const keys = new Set(lane.recent.map(({ key }) => key)).size;
  if (!sameRefusal || keys < JUDGED_VERDICTS) return lane;
  return paused(lane, `${describe(report)}: the last ${JUDGED_VERDICTS} items were refused alike`);
}

function afterAnswer(lane: LaneState, report: LaneReport, outcome: string): LaneState {
  const answered = { ...lane, unconnectedInARow: 0, recent: remember(lane.recent, report.key, outcome) };
  return leftBeforeClosing(lane, report) ? answered : { ...answered, probing: false, backoffMs: 0 };
}

/** Such a call says nothing about whether the lane may open again, nor whether to back off further. */
function leftBeforeClosing(lane: LaneState, report: LaneReport): boolean {
  return lane.probing && !report.probe;
}

function closed(lane: LaneState, untilMs: number, because: string): LaneState {
  if (untilMs <= lane.closedUntilMs) return { ...lane, probing: true };
  return { ...lane, probing: true, closedUntilMs: untilMs, closedBecause: because };
}

function paused(lane: LaneState, because: string): LaneState {
  return { ...lane, pausedBecause: because };
}

function nextBackoff(backoffMs: number): number {
  return backoffMs === 0 ? FIRST_BACKOFF_MS : Math.min(2 * backoffMs, MAX_BACKOFF_MS);
}

function remember(recent: readonly RecentVerdict[], key: string, outcome: string): readonly RecentVerdict[] {
  return [...recent, { key, outcome }].slice(-JUDGED_VERDICTS);
}

function status({ end }: LaneReport): string {
  return end.kind === 'answered' ? String(end.status) : end.code;
}

function describe(report: LaneReport): string {
  return `${status(report)} ${report.verdict} at ${report.key}`;
}
