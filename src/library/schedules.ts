import type { Client } from '@temporalio/client';
import {
  type BackfilledWindow,
  type MissedWindows,
  type ScheduleDefinition,
  type ScheduleStatus,
  backfill,
  createSchedule,
  deleteSchedule,
  listSchedules,
  missedWindows,
  pauseSchedule,
  resumeSchedule,
  scheduleStatus,
} from '../client.ts';
import type { Named } from '../workflows/named.ts';

/**
 * Batches that come by the clock. See docs/schedules.md.
 *
 * @throws NotFoundError, ScheduleRefusedError
 */
export interface Schedules {
  /** creating the same again changes nothing */
  create(
    name: string,
    definition: ScheduleDefinition,
    options?: { paused?: boolean },
  ): Promise<ScheduleStatus>;
  list(): Promise<ScheduleStatus[]>;
  status(name: string): Promise<ScheduleStatus>;
  /** leaves its firings out from now on */
  pause(name: string, act: Named): Promise<ScheduleStatus>;
  /** lets it fire again from now on */
  resume(name: string, act: Named): Promise<ScheduleStatus>;
  /** what it has published stays */
  delete(name: string): Promise<void>;
  /** the windows that were to be published by now, and were not */
  missed(name: string, options?: { since?: Date }): Promise<MissedWindows>;
  /** publishes them, each once, and waits `waitMs` until that is done: two hours by default */
  backfill(name: string, options?: { since?: Date; waitMs?: number }): Promise<BackfilledWindow[]>;
}

export function schedules(client: Client): Schedules {
  return {
    create: (name, definition, options) => createSchedule(client, name, definition, options),
    list: () => listSchedules(client),
    status: (name) => scheduleStatus(client, name),
    pause: (name, act) => pauseSchedule(client, name, act),
    resume: (name, act) => resumeSchedule(client, name, act),
    delete: (name) => deleteSchedule(client, name),
    missed: (name, options) => missedWindows(client, name, options),
    backfill: (name, options) => backfill(client, name, options),
  };
}
