import { setTimeout as sleep } from 'node:timers/promises';
import type { TestWorkflowEnvironment } from '@temporalio/testing';

/** Far more than the server takes, also on a busy machine. */
const GIVE_UP_AFTER_MS = 60_000;

/** Lets the server's time pass. It stands while an activity runs, and also while one waits in a queue that nobody polls. */
export async function skipTime(environment: TestWorkflowEnvironment, ms: number): Promise<void> {
  const giveUp = new AbortController();
  const standsStill = sleep(GIVE_UP_AFTER_MS, undefined, { signal: giveUp.signal }).then(() => {
    throw new Error('time stands still: an activity runs, or waits in a queue that nobody polls');
  });
  try {
    await Promise.race([environment.sleep(ms), standsStill]);
  } finally {
    giveUp.abort();
  }
}
