import { setTimeout as sleep } from 'node:timers/promises';

/** Looks until there is something to be seen, and returns it. A case that waits in vain has failed. */
export async function eventually<T>(
  what: string,
  withinMs: number,
  look: () => Promise<T | undefined>,
  everyMs = 50,
): Promise<T> {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (performance.now() > giveUpAt) throw new Error(`waited ${withinMs} ms in vain for: ${what}`);
    await sleep(everyMs);
  }
}

/** Waits until something is so. */
export async function until(
  what: string,
  withinMs: number,
  holds: () => boolean | Promise<boolean>,
  everyMs = 50,
): Promise<void> {
  await eventually(what, withinMs, async () => ((await holds()) ? true : undefined), everyMs);
}
