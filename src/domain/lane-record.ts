import { z } from 'zod';
import { type PaceWindow, PaceWindowSchema } from './pace-window.ts';
import { VERDICTS, type Verdict } from './verdict.ts';

/** A process that answered for a lane, with what it would hold it by. Durations are milliseconds. */
export interface Claimant {
  /** unique among all processes that ever ran */
  readonly process: string;
  readonly host: string;
  /** of the lane's configuration in that process; replicas with different files show different ones */
  readonly fingerprint: string;
  readonly leaseMs: number;
  readonly limit: { readonly requests: number; readonly perMs: number };
  readonly maxInFlight: number;
  /** how long a partition's lane stays open without an item */
  readonly idleAfterMs: number;
}

/** What a holder must know of its lane. Instants are given as durations, since hosts' clocks differ. */
export interface LaneView {
  /** the newer one holds */
  readonly version: number;
  readonly pausedBecause: string | null;
  /** how often the lane was resumed: tells a resume from a view that is older than a pause */
  readonly resumed: number;
  readonly closedForMs: number;
  readonly closedBecause: string;
  readonly probing: boolean;
  readonly backoffMs: number;
  /** an operator's, instead of the configuration's */
  readonly requests: number | null;
  readonly maxInFlight: number | null;
}

/** What a holder tells with every beat, and at the end: all that the next one needs. */
export const HoldReportSchema = z.object({
  window: PaceWindowSchema,
  /** since this hold began */
  tallies: z.record(z.enum(VERDICTS), z.int()),
  closedForMs: z.number(),
  closedBecause: z.string(),
  probing: z.boolean(),
  backoffMs: z.number(),
  inFlight: z.int(),
});
export type HoldReport = Readonly<z.infer<typeof HoldReportSchema>>;

export interface Holder extends Claimant {
  readonly epoch: number;
  /** epoch ms, by the server's clock */
  readonly sinceMs: number;
}

/** Who did something to a lane, why and when. */
export interface Act {
  readonly by: string;
  readonly reason: string;
  /** epoch ms, by the server's clock */
  readonly atMs: number;
}

export interface Override extends Act {
  /** null: the configuration's */
  readonly requests: number | null;
  readonly maxInFlight: number | null;
}

/**
 * Everything that is durable about a lane. The lane workflow keeps it, and hands it on when it continues as
 * new. Instants are epoch ms by the server's clock, since nobody else's is read here.
 */
export interface LaneRecord {
  readonly lane: string;
  readonly partition: string | null;
  version: number;
  epoch: number;
  holder: Holder | null;
  closedUntilMs: number;
  closedBecause: string;
  probing: boolean;
  backoffMs: number;
  paused: Act | null;
  resumed: number;
  draining: Act | null;
  override: Override | null;
  /** newest last, bounded: here the last limit that was safe can be found */
  overrides: Override[];
  /** how the last hold ended, and so what the next one may assume of the calls before it */
  last: LastHold;
  tallies: { [verdict in Verdict]: number };
  takeovers: number;
  handovers: number;
  /** configurations that processes came with, newest last, bounded */
  fingerprints: { fingerprint: string; process: string; seenMs: number }[];
}

export type LastHold =
  /** there was none */
  | { kind: 'none' }
  /** nothing is known of it */
  | { kind: 'unknown' }
  | { kind: 'handedOver'; window: PaceWindow }
  | { kind: 'lost'; window: PaceWindow; leaseMs: number };

const MOST_OVERRIDES = 50;
const MOST_FINGERPRINTS = 10;

/** @param epoch the last one of an earlier run: numbers are never given out again, since send logs are read by them */
export function newLaneRecord(
  lane: string,
  partition: string | null,
  last: LastHold,
  epoch: number,
): LaneRecord {
  return {
    lane,
    partition,
    version: 0,
    epoch,
    holder: null,
    closedUntilMs: 0,
    closedBecause: '',
    // Whatever went before that nobody knows of may have been told to stay away.
    probing: last.kind === 'unknown',
    backoffMs: 0,
    paused: null,
    resumed: 0,
    draining: null,
    override: null,
    overrides: [],
    last,
    tallies: { succeeded: 0, throttled: 0, unavailable: 0, ambiguous: 0, refused: 0, laneFault: 0 },
    takeovers: 0,
    handovers: 0,
    fingerprints: [],
  };
}

export function viewOf(record: LaneRecord, nowMs: number): LaneView {
  return {
    version: record.version,
    pausedBecause: record.paused && `${record.paused.reason} (by ${record.paused.by})`,
    resumed: record.resumed,
    closedForMs: Math.max(0, record.closedUntilMs - nowMs),
    closedBecause: record.closedBecause,
    probing: record.probing,
    backoffMs: record.backoffMs,
    requests: record.override?.requests ?? null,
    maxInFlight: record.override?.maxInFlight ?? null,
  };
}

/** Extends, never shortens. */
export function close(record: LaneRecord, forMs: number, because: string, nowMs: number): void {
  if (forMs <= 0 || nowMs + forMs <= record.closedUntilMs) return;
  record.closedUntilMs = nowMs + forMs;
  record.closedBecause = because;
}

export function noteFingerprint(
  record: LaneRecord,
  fingerprint: string,
  process: string,
  seenMs: number,
): void {
  const others = record.fingerprints.filter((seen) => seen.process !== process);
  record.fingerprints = [...others, { fingerprint, process, seenMs }].slice(-MOST_FINGERPRINTS);
}

export function noteOverride(record: LaneRecord, override: Override): void {
  record.override = override.requests === null && override.maxInFlight === null ? null : override;
  record.overrides = [...record.overrides, override].slice(-MOST_OVERRIDES);
  record.version++;
}

export function beginHold(record: LaneRecord, claimant: Claimant, nowMs: number): Holder {
  record.epoch++;
  record.version++;
  const holder: Holder = { ...claimant, epoch: record.epoch, sinceMs: nowMs };
  record.holder = holder;
  noteFingerprint(record, claimant.fingerprint, claimant.process, nowMs);
  return holder;
}

/** The holder gave the lane back, with all it knew. */
export function endHold(record: LaneRecord, report: HoldReport, nowMs: number): void {
  record.last = { kind: 'handedOver', window: report.window };
  record.handovers++;
  record.probing = report.probing;
  record.backoffMs = report.backoffMs;
  close(record, report.closedForMs, report.closedBecause, nowMs);
  addTallies(record, report);
  record.holder = null;
}

/** The holder never took up the lane, so it made no call, and what was known before still stands. */
export function forgetHold(record: LaneRecord): void {
  record.holder = null;
}

/**
 * The holder went unheard for a whole lease. What it said last is what is known, if it can be read; it may have learned of a
 * closure that it could not store, so that the first call after it is a probe.
 */
export function loseHold(
  record: LaneRecord,
  lastReport: HoldReport | null,
  leaseMs: number,
  nowMs: number,
): void {
  record.takeovers++;
  record.probing = true;
  record.holder = null;
  if (lastReport === null) {
    record.last = { kind: 'unknown' };
    return;
  }
  record.last = { kind: 'lost', window: lastReport.window, leaseMs };
  record.backoffMs = Math.max(record.backoffMs, lastReport.backoffMs);
  // Its report is a lease old, so the rest of its closure is shorter by that.
  close(record, lastReport.closedForMs - leaseMs, lastReport.closedBecause, nowMs);
  addTallies(record, lastReport);
}

function addTallies(record: LaneRecord, { tallies }: HoldReport): void {
  for (const verdict of VERDICTS) record.tallies[verdict] += tallies[verdict];
}
