import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Far more than anything takes that has no time of its own, also on a machine that is busy with other things. */
const PLENTY_MS = 60_000;
const ASK_EVERY_MS = 20;

/** Waits for a condition to become true. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = PLENTY_MS,
): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  while (!(await holds())) {
    assert.ok(performance.now() < giveUpAt, `not within ${withinMs} ms: ${what}`);
    await sleep(ASK_EVERY_MS);
  }
}

/** Watches that something stays true for a time, and fails at the first moment in which it is not. */
export async function holdsFor(
  ms: number,
  what: string,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt) {
    assert.ok(await holds(), `did not hold for ${ms} ms: ${what}`);
    await sleep(ASK_EVERY_MS);
  }
}
