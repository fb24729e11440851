import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet, Holding } from './fleet.ts';
import { eventually } from './until.ts';

/** Far beyond any bound: a case that waits so long has failed, and shall say so by its numbers where it can. */
const TAKEN_OVER_WITHIN_MS = 90_000;
/** A holder is struck in the middle of its work, not while it takes the lane up. */
const CALLS_BEFORE_FAULT = 5;

export interface Takeover {
  /** epoch ms */
  readonly faultMs: number;
  readonly from: Holding;
  readonly to: Holding;
  /** from the fault to the first call under the next hold */
  readonly nextCallAfterMs: number;
}

/** Waits until whoever holds the lane has made some calls under this hold. */
export async function atWork(fleet: Fleet): Promise<Holding> {
  return await eventually('a holder at work', TAKEN_OVER_WITHIN_MS, async () => {
    const holding = await fleet.holding();
    if (holding === undefined) return undefined;
    const calls = (await fleet.door.arrivals()).filter(({ wallMs }) => wallMs >= holding.sinceMs);
    return calls.length >= CALLS_BEFORE_FAULT ? holding : undefined;
  });
}

/**
 * Does something to the holder, and waits for the first call of the next one.
 *
 * @param phaseMs waited before, so that faults hit different moments between two beats and two calls
 */
export async function takeover(
  fleet: Fleet,
  phaseMs: number,
  fault: (holder: Holding) => Promise<void> | void,
): Promise<Takeover> {
  await atWork(fleet);
  await sleep(phaseMs);
  const from = await fleet.held();
  const faultMs = Date.now();
  await fault(from);
  return await nextAfter(fleet, from, faultMs);
}

/** The first call under the hold after `from`. */
export async function nextAfter(fleet: Fleet, from: Holding, faultMs: number): Promise<Takeover> {
  const to = await eventually('the next hold', TAKEN_OVER_WITHIN_MS, async () => {
    const holding = await fleet.holding();
    return holding?.id === from.id ? undefined : holding;
  });
  const call = await eventually('its first call', TAKEN_OVER_WITHIN_MS, async () =>
    (await fleet.door.arrivals()).find(({ wallMs }) => wallMs >= to.sinceMs),
  );
  return { faultMs, from, to, nextCallAfterMs: call.wallMs - faultMs };
}
