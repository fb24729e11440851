import { type Client, type WorkflowExecutionDescription, WorkflowFailedError } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import pMap from 'p-map';
import { parseDuration } from '../domain/duration.ts';
import { DISPATCH_TASK_QUEUE, firingWorkflowId } from '../domain/ids.ts';
import { type Window, type WindowPublished, instantText } from '../domain/window.ts';
import { GRPC, grpcCodeOf } from '../grpc.ts';
import { retentionOf } from '../namespace.ts';
import type { publishWindow } from '../workflows/index.ts';
import { FIRST_PRIORITY } from './batch-start.ts';
import { ScheduleRefusedError } from './errors.ts';
import { describeOrUndefined } from './key-holder.ts';
import { quoted } from './lists.ts';
import { matchingTimes, previousFiring } from './matching-times.ts';
import { pendingActivityOf } from './pending-activity.ts';
import { type ScheduleStatus, scheduleStatus } from './schedules.ts';
import { rootOf, whyFailed } from './workflow-failure.ts';

/** More than anybody reads; a schedule that fires each minute makes as many in a week. */
const MOST_WINDOWS = 10_000;
const LOOKUPS_AT_ONCE = 20;
/** A window is all of a source's answer, so that few at once keep a worker busy. */
const BACKFILLS_AT_ONCE = 2;
/** As long as an hour of attempts may take, and not for ever. */
const DEFAULT_WAIT_MS = 2 * 3_600_000;

/** A window that was to be published by now, and was not. */
export interface MissedWindow extends Window {
  /** `missed`: it never fired; `failed`: it fired, and could not be published; `running`: it is being published */
  readonly state: 'missed' | 'failed' | 'running';
  readonly reason: string | null;
}

export interface MissedWindows {
  readonly schedule: string;
  /** earlier ones were not looked at */
  readonly since: string;
  /** true: Temporal forgets closed workflows, and can't tell of earlier windows whether they were published */
  readonly sinceRetention: boolean;
  readonly windows: readonly MissedWindow[];
}

/**
 * The windows that a schedule has not published, since it was created, or as far back as Temporal remembers.
 *
 * @param since looks further back, or less far
 * @throws NotFoundError, ScheduleRefusedError
 */
export async function missedWindows(
  client: Client,
  schedule: string,
  { since }: { since?: Date } = {},
): Promise<MissedWindows> {
  const status = await scheduleStatus(client, schedule);
  const rememberedMs = Date.now() - (await retentionOf(client.connection, client.options.namespace));
  const createdMs = Date.parse(status.createdAt);
  const sinceMs = since?.getTime() ?? Math.max(createdMs, rememberedMs);
  const times = await matchingTimes(client, schedule, sinceMs, Date.now(), MOST_WINDOWS + 1);
  if (times.length > MOST_WINDOWS)
    throw new ScheduleRefusedError(
      `schedule "${schedule}": more than ${MOST_WINDOWS} windows since ${instantText(sinceMs)}; look at them from a later time on (--since)`,
    );
  const windows = await windowsOf(client, schedule, times);
  const published = await publishedFirings(client, schedule);
  const left = windows.filter(({ end }) => !published.has(firingWorkflowId(schedule, end)));
  const judged = await pMap(left, (window) => judge(client, status, window), {
    concurrency: LOOKUPS_AT_ONCE,
  });
  return {
    schedule,
    since: instantText(sinceMs),
    sinceRetention: since === undefined && rememberedMs > createdMs,
    windows: judged.filter((window) => window !== null),
  };
}

/** Each from one firing to the next. */
async function windowsOf(client: Client, schedule: string, times: readonly number[]): Promise<Window[]> {
  const [first] = times;
  if (first === undefined) return [];
  const before = await previousFiring(client, schedule, first);
  const starts = before.isFiring ? [before.previousMs, ...times] : times;
  const ends = before.isFiring ? times : times.slice(1);
  return ends.map((end, index) => ({ start: instantText(starts[index] ?? end), end: instantText(end) }));
}

/** The list lags by seconds; whoever is not in it is asked for by itself. */
async function publishedFirings(client: Client, schedule: string): Promise<Set<string>> {
  const prefix = quoted(firingWorkflowId(schedule, ''));
  const query = `WorkflowId STARTS_WITH ${prefix} AND WorkflowType = 'publishWindow' AND ExecutionStatus = 'Completed'`;
  const published = new Set<string>();
  for await (const { workflowId } of client.workflow.list({ query })) published.add(workflowId);
  return published;
}

/** Null: it was published, or is still to come by itself. */
async function judge(
  client: Client,
  { schedule, paused, catchUp }: ScheduleStatus,
  window: Window,
): Promise<MissedWindow | null> {
  const workflowId = firingWorkflowId(schedule, window.end);
  const description = await describeOrUndefined(client, workflowId);
  switch (description?.status.name) {
    case 'COMPLETED':
      return null;
    case 'RUNNING':
    case 'PAUSED':
    case 'CONTINUED_AS_NEW':
      return { ...window, state: 'running', reason: whatHoldsUp(description) };
    case undefined: {
      const dueUntilMs = Date.parse(window.end) + parseDuration(catchUp);
      if (!paused && Date.now() < dueUntilMs) return null;
      return { ...window, state: 'missed', reason: null };
    }
    default: {
      const reason = await whyFailed(client, workflowId, description?.runId);
      return { ...window, state: 'failed', reason: reason ?? 'it was published meanwhile' };
    }
  }
}

/** Why a source that is asked again and again has not given its items yet. */
function whatHoldsUp(description: WorkflowExecutionDescription): string | null {
  return pendingActivityOf(description, 'publishWindow')?.lastFailure ?? null;
}

/** How the backfill of one window ended. */
export type BackfilledWindow =
  | (WindowPublished & { readonly state: 'published' })
  | (Window & { readonly state: 'failed'; readonly reason: string })
  | (Window & { readonly state: 'pending' });

/**
 * Publishes the windows that a schedule has missed, the oldest first, each once, however often it is asked for. Each
 * is published under the workflow ID that its own firing would have had.
 *
 * @throws NotFoundError, ScheduleRefusedError
 */
export async function backfill(
  client: Client,
  schedule: string,
  { since, waitMs = DEFAULT_WAIT_MS }: { since?: Date; waitMs?: number } = {},
): Promise<BackfilledWindow[]> {
  const status = await scheduleStatus(client, schedule);
  const { windows } = await missedWindows(client, schedule, since === undefined ? {} : { since });
  const deadline = Date.now() + waitMs;
  return await pMap(windows, (window) => publishMissed(client, status, window, deadline), {
    concurrency: BACKFILLS_AT_ONCE,
  });
}

async function publishMissed(
  client: Client,
  { schedule, lane, source, when }: ScheduleStatus,
  { start, end }: Window,
  deadline: number,
): Promise<BackfilledWindow> {
  const workflowId = firingWorkflowId(schedule, end);
  const timeZone = when.kind === 'cron' ? when.timeZone : 'UTC';
  try {
    await client.workflow.start<typeof publishWindow>('publishWindow', {
      workflowId,
      taskQueue: DISPATCH_TASK_QUEUE,
      args: [{ lane, source, timeZone }],
      priority: FIRST_PRIORITY,
      // A firing that has failed is tried again; one that runs is joined; one that has published is left alone.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `backfill of schedule ${schedule}: a window of ${source} for lane ${lane}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
  try {
    const published = await client.withDeadline(deadline, () =>
      client.workflow.getHandle<typeof publishWindow>(workflowId).result(),
    );
    return { state: 'published', ...published };
  } catch (error) {
    if (error instanceof WorkflowFailedError)
      return { start, end, state: 'failed', reason: rootOf(error).message };
    if (grpcCodeOf(error) === GRPC.deadlineExceeded) return { start, end, state: 'pending' };
    throw error;
  }
}
