import { setTimeout } from 'node:timers/promises';

/** Waits, in milliseconds; ends early, without an error, when the signal says so. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
