import type { LastHold } from './lane-record.ts';
import { Pace } from './pace.ts';
import type { Limit } from './policy.ts';

/** A window up to this long is waited out before a lane's very first call. */
const WAITED_OUT_AT_FIRST_MS = 60_000;

/** The pace of a hold that begins now, after one that ended so. */
export function paceAfter(last: LastHold, limit: Limit, timeoutMs: number, nowMs: number): Pace {
  const pace = new Pace(limit, timeoutMs);
  switch (last.kind) {
    case 'none':
      // Nobody is known to have called. Where it costs little, not even that is relied on.
      if (limit.perMs <= WAITED_OUT_AT_FIRST_MS) pace.assumeFullWindow(nowMs);
      break;
    case 'unknown':
      // Whoever called before us may have used up the window a moment ago.
      pace.assumeFullWindow(nowMs);
      break;
    case 'handedOver':
      pace.continueFrom(last.window, nowMs);
      break;
    case 'lost':
      pace.takeOverFrom(last.window, last.leaseMs, nowMs);
  }
  return pace;
}
