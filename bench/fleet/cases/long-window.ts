import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetCase } from '../case.ts';
import { Fleet } from '../fleet.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';
import { takeover } from '../takeover.ts';

const REPLICAS = 3;
const QUOTA = { requests: 60, perMs: 60_000 };
const SPACING_MS = QUOTA.perMs / QUOTA.requests;
/** So that what each takeover assumes of the last minute's calls is felt before the end. */
const CALM_AFTER_TAKEOVER_MS = 45_000;
const KILLS = 3;
const DONE_WITHIN_MS = 120_000;
/** "At most three spacings plus the lease lost per takeover." */
const LOST_SPACINGS = 3;

export const longWindowCase: FleetCase = {
  name: 'long-window',
  about: '60 calls per 60 s, the holder killed three times',
  alone: false,
  run: (findings, folder) =>
    Fleet.run({ folder, replicas: REPLICAS, quota: QUOTA }, async (fleet) => {
      const load = new Load(fleet);
      load.feed(15, 5);
      for (let n = 1; n <= KILLS; n++) {
        const { nextCallAfterMs } = await takeover(fleet, n * 310, ({ replica }) => replica.kill());
        findings.tell(`nextCallAfterMs.${n}`, nextCallAfterMs);
        await fleet.startReplica();
        await sleep(CALM_AFTER_TAKEOVER_MS);
      }
      // What comes after the load's end waits for nothing but its own few items.
      const arrivals = await fleet.door.arrivals();
      const [first, last] = [arrivals[0], arrivals.at(-1)];
      if (first === undefined || last === undefined) throw new Error('expected calls, got none');
      const atFullPaceMs = (arrivals.length - 1) * SPACING_MS;
      const lostMs = last.monotonicMs - first.monotonicMs - atFullPaceMs;
      findings.check('lostPerTakeoverMs', lostMs / KILLS, {
        atMost: fleet.terms.leaseMs + LOST_SPACINGS * SPACING_MS,
      });
      await load.end(DONE_WITHIN_MS);
      await checkPromises(findings, fleet, load);
    }),
};
