import {
  ActivityCancellationType,
  CancellationScope,
  TimeoutFailure,
  allHandlersFinished,
  condition,
  isCancellation,
  makeContinueAsNewFunc,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutType } from '@temporalio/common';
import type { LaneDeskActivities, ProcessActivities, StandbyActivities } from '../activities/contract.ts';
import { laneName, processTaskQueue, standbyTaskQueue } from '../domain/ids.ts';
import {
  type Claimant,
  type HoldReport,
  HoldReportSchema,
  type Holder,
  type LaneRecord,
  type LastHold,
  beginHold,
  endHold,
  forgetHold,
  loseHold,
  newLaneRecord,
  viewOf,
} from '../domain/lane-record.ts';
import { LaneDesk } from './lane-desk.ts';

/** The input of `lane`. Whoever opens it says what is known of an earlier run of it. */
export interface LaneOpening {
  readonly lane: string;
  readonly partition: string | null;
  readonly last: LastHold;
  /** the last one that an earlier run gave out; absent where there was none, or nothing is known of it */
  readonly epoch?: number;
  /** from the run that continued as new */
  readonly record?: LaneRecord;
}

/**
 * One lane: who may call its upstream, and all that outlives whoever does.
 *
 * ```
 *   unheld ──claimLane: somebody alive answers──▶ claimed ──holdLane──▶ held
 *     ▲                                              │                   │
 *     │      never taken up: what was known stands   │                   │ given back, or unheard for a lease
 *     └──────────────────────────────────────────────┴───────────────────┘
 * ```
 *
 * The lease is asked for in two steps, because a frozen or cut-off process still has polls open at the server
 * and would be handed the lease for nothing: a claim is answered at once or not at all. The next holder is
 * asked for here rather than by a retry policy, so that it gets today's pause, limits and closure.
 *
 * @returns the record of a partition's lane that ended because nothing was left to do in it
 */
export async function lane(opening: LaneOpening): Promise<LaneRecord> {
  const record =
    opening.record ?? newLaneRecord(opening.lane, opening.partition, opening.last, opening.epoch ?? 0);
  const desk = new LaneDesk(record);
  for (;;) {
    setCurrentDetails('Waits for a process to stand by for it.');
    const claimant = await claim(record);
    if (claimant !== undefined) await hold(record, beginHold(record, claimant, Date.now()), desk);
    // Only between two holders: continuing as new would orphan the activity that is the lease.
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await onwards({ ...opening, record });
    }
    if (desk.retires()) {
      await condition(allHandlersFinished);
      // An item may have opened the lane meanwhile.
      if (desk.retires()) return record;
    }
  }
}

/** Takes along the memo, which the server does not: a lane that is being drained says so there. */
async function onwards(opening: LaneOpening): Promise<never> {
  const { memo = {} } = workflowInfo();
  return await makeContinueAsNewFunc<typeof lane>({ memo })(opening);
}

/** Who answers first; undefined when nobody did until the history had grown long. */
async function claim({ lane: name, partition }: LaneRecord): Promise<Claimant | undefined> {
  const { claimLane } = proxyActivities<StandbyActivities>({
    taskQueue: standbyTaskQueue(name),
    // An answer takes milliseconds. A dead process's poll swallows the question; then it is asked again.
    startToCloseTimeout: '1s',
    retry: { initialInterval: '20ms', backoffCoefficient: 1.5, maximumInterval: '500ms' },
  });
  const asking = new CancellationScope();
  return await asking.run(async () => {
    const claimant = claimLane(laneName(name, partition));
    // Given up, it fails. Nothing is lost with an answer that comes too late.
    claimant.catch(() => undefined);
    try {
      return await Promise.race([claimant, untilLong().then(() => undefined)]);
    } finally {
      asking.cancel();
    }
  });
}

/** Until the server would like this run to continue as new. */
function untilLong(): Promise<void> {
  return condition(() => workflowInfo().continueAsNewSuggested);
}

/** Lets a process hold the lane until it gives it back or is lost, and enters what is known then. */
async function hold(record: LaneRecord, holder: Holder, desk: LaneDesk): Promise<void> {
  const { holdLane } = proxyActivities<ProcessActivities>({
    taskQueue: processTaskQueue(holder.process),
    // It has just answered; if it does not take up the lane at once, somebody else shall.
    scheduleToStartTimeout: '1s',
    heartbeatTimeout: holder.leaseMs,
    // A lease has no natural end.
    startToCloseTimeout: '1000 days',
    retry: { maximumAttempts: 1 },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  setCurrentDetails(
    `Held by ${holder.process} on ${holder.host} since ${new Date(holder.sinceMs).toISOString()}.`,
  );
  const name = laneName(record.lane, record.partition);
  const view = viewOf(record, Date.now());
  const held = new CancellationScope();
  const asideFromHolding = new CancellationScope();
  const aside = asideFromHolding.run(() => giveBackWhenWanted(record, holder, desk, held));
  try {
    const { leaseMs, epoch } = holder;
    const report = await held.run(() => holdLane({ name, epoch, leaseMs, view, last: record.last }));
    endHold(record, report, Date.now());
  } catch (error) {
    const ended = howItEnded(error);
    switch (ended.kind) {
      case 'lost':
        loseHold(record, ended.report, holder.leaseMs, Date.now());
        break;
      case 'neverHeld':
        forgetHold(record);
        break;
      case 'failed':
        throw error;
    }
  } finally {
    asideFromHolding.cancel();
    await aside;
  }
}

/** Asks for the lane back when its history has grown long, or when nothing is left to do in it. */
async function giveBackWhenWanted(
  record: LaneRecord,
  holder: Holder,
  desk: LaneDesk,
  held: CancellationScope,
): Promise<void> {
  try {
    await Promise.race([
      untilLong(),
      record.partition === null ? condition(() => false) : untilIdle(record, holder, desk),
    ]);
    held.cancel();
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
}

const { laneIsIdle } = proxyActivities<LaneDeskActivities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

async function untilIdle(record: LaneRecord, holder: Holder, desk: LaneDesk): Promise<void> {
  for (;;) {
    const { openings } = desk;
    await sleep(holder.idleAfterMs, { summary: 'idle?' });
    if (desk.openings !== openings || !desk.mayRetire()) continue;
    if (!(await laneIsIdle(laneName(record.lane, record.partition)))) continue;
    if (desk.openings === openings) return desk.retire();
  }
}

type HoldEnd =
  /** null: it said something that can't be read */
  { kind: 'lost'; report: HoldReport | null } | { kind: 'neverHeld' } | { kind: 'failed' };

function howItEnded(error: unknown): HoldEnd {
  if (!(error instanceof ActivityFailure)) return { kind: 'failed' };
  const { cause } = error;
  // Refused, or asked back before anybody took it up.
  if (cause instanceof ApplicationFailure || cause instanceof CancelledFailure) return { kind: 'neverHeld' };
  if (!(cause instanceof TimeoutFailure)) return { kind: 'lost', report: null };
  // Nobody was there.
  if (cause.timeoutType === TimeoutType.SCHEDULE_TO_START) return { kind: 'neverHeld' };
  const said: unknown = cause.lastHeartbeatDetails;
  // Without a confirmed beat it never let a call leave.
  if (said === undefined || said === null) return { kind: 'neverHeld' };
  return { kind: 'lost', report: HoldReportSchema.safeParse(said).data ?? null };
}
