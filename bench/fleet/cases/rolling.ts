import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetCase } from '../case.ts';
import { longestGapMs } from '../door.ts';
import type { Findings } from '../findings.ts';
import { Fleet } from '../fleet.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';
import { atWork } from '../takeover.ts';

const REPLICAS = 3;
const DONE_WITHIN_MS = 120_000;
/** "Under 2 s": times are whole milliseconds here. */
const LONGEST_GAP_MS = 1_999;
const WATCHED_MS = 2_500;

export const rollingCase: FleetCase = {
  name: 'rolling-restart',
  about: 'SIGTERM of every replica under load, one after the other, each replaced when it has ended',
  alone: false,
  run: (findings, folder) =>
    Fleet.run({ folder, replicas: REPLICAS }, async (fleet) => {
      const load = new Load(fleet);
      load.feed(100, 50);
      await rollingRestart(findings, fleet);
      await load.end(DONE_WITHIN_MS);
      await checkPromises(findings, fleet, load);
      await load.checkBudget(findings);
    }),
};

/** Replaces every replica; the holder of the moment goes first, so that each of them hands the lane over. */
export async function rollingRestart(findings: Findings, fleet: Fleet): Promise<void> {
  const { sinceMs } = await atWork(fleet);
  const old = new Set(fleet.replicas);
  let handovers = 0;
  while (old.size > 0) {
    const { replica: holder } = await atWork(fleet);
    const next = old.has(holder) ? holder : [...old][0];
    if (next === undefined) break;
    if (next === holder) handovers++;
    old.delete(next);
    await next.stop();
    await fleet.startReplica();
  }
  await atWork(fleet);
  await sleep(WATCHED_MS);
  const arrivals = await fleet.door.arrivals();
  findings.check('longestGapMs', longestGapMs(arrivals, sinceMs), { atMost: LONGEST_GAP_MS });
  findings.check('handovers', handovers, { atLeast: 1 });
}
