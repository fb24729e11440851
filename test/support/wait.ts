import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { type BatchStatus, batchStatus } from '../../src/client.ts';

/** Far more than anything here takes, also on a busy machine. */
export const GIVE_UP_AFTER_MS = 60_000;

/** Looks until there is something to be seen, and returns it. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const giveUpAt = performance.now() + GIVE_UP_AFTER_MS;
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    assert.ok(performance.now() < giveUpAt, `waited in vain for: ${what}`);
    await sleep(20);
  }
}

/** Waits until something is so. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(what, async () => ((await holds()) ? true : undefined));
}

/** Waits until a batch has ended, and returns what it says then. */
export async function batchEnd(client: Client, batchId: string): Promise<BatchStatus> {
  return await eventually(`the end of batch ${batchId}`, async () => {
    const status = await batchStatus(client, batchId);
    return status.workflow === 'RUNNING' ? undefined : status;
  });
}
