import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
  type ScheduleOverlapPolicy,
} from '@temporalio/client';
import { z } from 'zod';
import { describeIssues } from '../domain/batch.ts';
import { parseDuration } from '../domain/duration.ts';
import { DISPATCH_TASK_QUEUE, parseScheduleId, scheduleId } from '../domain/ids.ts';
import { instantText } from '../domain/window.ts';
import type { publishWindow } from '../workflows/index.ts';
import type { Named } from '../workflows/named.ts';
import { FIRST_PRIORITY } from './batch-start.ts';
import { NotFoundError, ScheduleRefusedError } from './errors.ts';
import { noSuchSchedule } from './matching-times.ts';

/** What happens when a schedule fires while its last firing still runs. A skipped window can be backfilled. */
export const OVERLAPS = ['skip', 'buffer-one', 'buffer-all', 'allow-all'] as const;
export type Overlap = (typeof OVERLAPS)[number];

const POLICY_OF: Readonly<Record<Overlap, ScheduleOverlapPolicy>> = {
  skip: 'SKIP',
  'buffer-one': 'BUFFER_ONE',
  'buffer-all': 'BUFFER_ALL',
  'allow-all': 'ALLOW_ALL',
};

/** The server makes it this of anything less. */
const LEAST_CATCH_UP_MS = 10_000;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** A schedule as its maker defines it. Kept in its memo, and compared when it is created again. */
export const ScheduleDefinitionSchema = z.strictObject({
  lane: z.string().regex(NAME, 'expected the name of a lane'),
  /** by its name in the workers' lanes.yaml */
  source: z.string().regex(NAME, 'expected the name of a source'),
  when: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('cron'), cron: z.string().min(1), timeZone: z.string().min(1) }),
    /** counted from 1970, so that the times don't depend on when the schedule was made */
    z.strictObject({ kind: z.literal('every'), every: duration(), offset: duration().optional() }),
  ]),
  overlap: z.enum(OVERLAPS),
  /** how late a firing may be, after an outage of Temporal; a later one is left to a backfill */
  catchUp: duration(),
});
export type ScheduleDefinition = z.infer<typeof ScheduleDefinitionSchema>;

function duration() {
  return z.string().superRefine((text, context) => {
    try {
      parseDuration(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
    }
  });
}

/** A schedule, and how it stands. */
export interface ScheduleStatus extends ScheduleDefinition {
  readonly schedule: string;
  readonly paused: boolean;
  /** who paused or resumed it last, and why */
  readonly note: string | null;
  readonly createdAt: string;
  readonly nextAt: readonly string[];
  readonly lastFiredAt: string | null;
}

/**
 * Creates a schedule. Creating the same again changes nothing.
 *
 * @throws ScheduleRefusedError when it can't be so, or exists otherwise
 */
export async function createSchedule(
  client: Client,
  schedule: string,
  asked: ScheduleDefinition,
  { paused = false }: { paused?: boolean } = {},
): Promise<ScheduleStatus> {
  if (!NAME.test(schedule))
    throw new ScheduleRefusedError(
      `schedule: expected 1 to 100 letters, digits, dots, - or _, the first a letter or digit, got "${schedule}"`,
    );
  const definition = parsedDefinition(schedule, asked);
  const { lane, source, when, overlap, catchUp } = definition;
  const timeZone = when.kind === 'cron' ? when.timeZone : 'UTC';
  // A variable, since the type of an action lacks the priority, which the SDK hands on.
  const action = {
    type: 'startWorkflow',
    workflowType: 'publishWindow',
    workflowId: scheduleId(schedule),
    taskQueue: DISPATCH_TASK_QUEUE,
    args: [{ lane, source, timeZone }],
    priority: FIRST_PRIORITY,
    staticSummary: `schedule ${schedule}: a window of ${source} for lane ${lane}`,
  } as const;
  try {
    await client.schedule.create<typeof publishWindow>({
      scheduleId: scheduleId(schedule),
      spec:
        when.kind === 'cron'
          ? { cronExpressions: [when.cron], timezone: timeZone }
          : { intervals: [{ every: parseDuration(when.every), offset: offsetOf(when.offset) }] },
      policies: { overlap: POLICY_OF[overlap], catchupWindow: parseDuration(catchUp) },
      state: { paused, note: paused ? 'created paused' : '' },
      memo: { definition },
      action,
    });
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return await sameAs(client, schedule, definition);
    // The SDK says so of whatever the server finds wrong with the times, in the server's words.
    if (error instanceof TypeError)
      throw new ScheduleRefusedError(`schedule "${schedule}": ${error.message}`);
    throw error;
  }
  return await checked(client, schedule);
}

function parsedDefinition(schedule: string, asked: ScheduleDefinition): ScheduleDefinition {
  const parsed = ScheduleDefinitionSchema.safeParse(asked);
  const faults = parsed.success ? roundedIn(parsed.data) : describeIssues(parsed.error, 'definition');
  if (!parsed.success || faults !== '') throw new ScheduleRefusedError(`schedule "${schedule}": ${faults}`);
  return parsed.data;
}

/** What the server would take, and make something else of. */
function roundedIn({ when, catchUp }: ScheduleDefinition): string {
  const times = when.kind === 'every' ? { every: when.every, offset: when.offset ?? '1s' } : {};
  const faults = Object.entries(times)
    .filter(([, text]) => parseDuration(text) % 1_000 !== 0)
    .map(([name, text]) => `${name}: expected whole seconds, got ${text}`);
  if (parseDuration(catchUp) < LEAST_CATCH_UP_MS)
    faults.push(`catchUp: expected at least 10s, got ${catchUp}`);
  return faults.join('; ');
}

function offsetOf(offset: string | undefined): number {
  return offset === undefined ? 0 : parseDuration(offset);
}

async function sameAs(client: Client, schedule: string, asked: ScheduleDefinition): Promise<ScheduleStatus> {
  const status = await scheduleStatus(client, schedule);
  const { lane, source, when, overlap, catchUp } = status;
  if (JSON.stringify({ lane, source, when, overlap, catchUp }) !== JSON.stringify(asked))
    throw new ScheduleRefusedError(
      `schedule "${schedule}": exists with another definition; see onelane schedule list, and delete it first`,
    );
  return status;
}

/** A cron line that never fires, such as one for February 30, is taken by the server. */
async function checked(client: Client, schedule: string): Promise<ScheduleStatus> {
  const status = await scheduleStatus(client, schedule);
  if (status.nextAt.length > 0) return status;
  await client.schedule.getHandle(scheduleId(schedule)).delete();
  throw new ScheduleRefusedError(
    `schedule "${schedule}": expected times that come, got a rule that never fires`,
  );
}

/** @throws NotFoundError */
export async function scheduleStatus(client: Client, schedule: string): Promise<ScheduleStatus> {
  return statusOf(schedule, await describeSchedule(client, schedule));
}

/** All schedules of ours. */
export async function listSchedules(client: Client): Promise<ScheduleStatus[]> {
  const names: string[] = [];
  for await (const { scheduleId: id, memo } of client.schedule.list()) {
    const name = parseScheduleId(id);
    if (name !== undefined && MemoSchema.safeParse(memo).success) names.push(name);
  }
  const found: ScheduleStatus[] = [];
  for (const name of names.toSorted()) {
    try {
      found.push(await scheduleStatus(client, name));
    } catch (error) {
      // The list lags: it may have one that was just deleted.
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
  return found;
}

/** Its firings are left out from now on; what has fired goes on. */
export async function pauseSchedule(client: Client, schedule: string, act: Named): Promise<ScheduleStatus> {
  return await change(client, schedule, (handle) => handle.pause(noteOf(act)));
}

/** It fires again from now on; what was missed meanwhile is listed, and published by a backfill. */
export async function resumeSchedule(client: Client, schedule: string, act: Named): Promise<ScheduleStatus> {
  return await change(client, schedule, (handle) => handle.unpause(noteOf(act)));
}

/** What it has published stays. */
export async function deleteSchedule(client: Client, schedule: string): Promise<void> {
  await scheduleStatus(client, schedule);
  await client.schedule.getHandle(scheduleId(schedule)).delete();
}

async function change(
  client: Client,
  schedule: string,
  act: (handle: ScheduleHandle) => Promise<void>,
): Promise<ScheduleStatus> {
  await scheduleStatus(client, schedule);
  await act(client.schedule.getHandle(scheduleId(schedule)));
  return await scheduleStatus(client, schedule);
}

function noteOf({ by, reason }: Named): string {
  if (by.trim() === '' || reason.trim() === '')
    throw new ScheduleRefusedError('by, reason: expected who does this and why, got nothing');
  return `${by}: ${reason}`;
}

async function describeSchedule(client: Client, schedule: string): Promise<ScheduleDescription> {
  try {
    return await client.schedule.getHandle(scheduleId(schedule)).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) throw noSuchSchedule(schedule);
    throw error;
  }
}

const MemoSchema = z.object({ definition: ScheduleDefinitionSchema });

function statusOf(schedule: string, { memo, state, info }: ScheduleDescription): ScheduleStatus {
  const parsed = MemoSchema.safeParse(memo);
  if (!parsed.success) throw new NotFoundError(`schedule "${schedule}": it is none of onelane's`);
  return {
    schedule,
    ...parsed.data.definition,
    paused: state.paused,
    note: state.note === undefined || state.note === '' ? null : state.note,
    createdAt: info.createdAt.toISOString(),
    nextAt: info.nextActionTimes.slice(0, 3).map((at) => instantText(at.getTime())),
    lastFiredAt: info.recentActions.at(-1)?.scheduledAt.toISOString() ?? null,
  };
}
