import type { Client } from '@temporalio/client';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import { scheduleId } from '../domain/ids.ts';
import { GRPC, grpcCodeOf } from '../grpc.ts';
import { NotFoundError } from './errors.ts';

/** What the server lists at most, from the first on. */
const LISTED_AT_MOST = 1_000;

/** How far back the firing before another is looked for. In short steps, since most fire often. */
const STEPS_BACK_MS = [60_000, 3_600_000, 86_400_000, 40 * 86_400_000, 366 * 86_400_000, 3_660 * 86_400_000];

/**
 * When a schedule fires by its own rule: later than `afterMs`, at `untilMs` at the latest, in order; paused or not.
 * Only the server knows: it alone reads the rule, with its time zone.
 *
 * @throws NotFoundError
 */
export async function matchingTimes(
  client: Client,
  schedule: string,
  afterMs: number,
  untilMs: number,
  atMost = Infinity,
): Promise<number[]> {
  const times: number[] = [];
  for (let fromMs = afterMs; fromMs < untilMs && times.length <= atMost;) {
    const listed = await listOnce(client, schedule, fromMs, untilMs);
    times.push(...listed);
    if (listed.length < LISTED_AT_MOST) break;
    fromMs = listed.at(-1) ?? untilMs;
  }
  return times.slice(0, atMost);
}

/**
 * Whether a schedule fires at a time, and when it did before: there the window begins that ends at that time.
 *
 * @throws NotFoundError
 */
export async function previousFiring(
  client: Client,
  schedule: string,
  firedAtMs: number,
): Promise<{ isFiring: false } | { isFiring: true; previousMs: number }> {
  for (const backMs of STEPS_BACK_MS) {
    const times = await matchingTimes(client, schedule, firedAtMs - backMs, firedAtMs);
    if (times.at(-1) !== firedAtMs) return { isFiring: false };
    const previousMs = times.at(-2);
    if (previousMs !== undefined) return { isFiring: true, previousMs };
  }
  // It fires once in ten years, or has never fired before.
  return { isFiring: false };
}

async function listOnce(
  client: Client,
  schedule: string,
  afterMs: number,
  untilMs: number,
): Promise<number[]> {
  try {
    const { startTime } = await client.workflowService.listScheduleMatchingTimes({
      namespace: client.options.namespace,
      scheduleId: scheduleId(schedule),
      startTime: msToTs(afterMs),
      endTime: msToTs(untilMs),
    });
    return (startTime ?? []).map(tsToMs);
  } catch (error) {
    if (grpcCodeOf(error) === GRPC.notFound) throw noSuchSchedule(schedule);
    throw error;
  }
}

export function noSuchSchedule(schedule: string): NotFoundError {
  return new NotFoundError(`schedule "${schedule}": there is none of this name`);
}
