import { setTimeout as sleep } from 'node:timers/promises';
import { type FleetCase, TAKEOVER_MS } from '../case.ts';
import type { Findings } from '../findings.ts';
import { Fleet } from '../fleet.ts';
import { CUTS, type Cut } from '../link.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';
import { takeover } from '../takeover.ts';

const REPLICAS = 3;
const MOMENTS = 10;
const DONE_WITHIN_MS = 120_000;
/** The cut lasts on for this long after the takeover, so that a holder that came back too early would be seen. */
const STAYS_CUT_MS = 1_500;
/** Coprime to a beat's 1.3 s and to the 100 ms between calls, so that every moment is another. */
const PHASE_MS = 137;

export const cutCase: FleetCase = {
  name: 'cut',
  about: 'the holder cut off from Temporal for longer than the lease, ten moments: ' + CUTS.join(', '),
  alone: false,
  run: (findings, folder) =>
    Fleet.run({ folder, replicas: REPLICAS, linked: true }, async (fleet) => {
      const load = new Load(fleet);
      load.feed(100, 50);
      for (let n = 0; n < MOMENTS; n++) {
        const cut = CUTS[n % CUTS.length] ?? 'both';
        await cutHolder(findings, fleet, cut, `${n + 1}.${cut}`, n * PHASE_MS);
      }
      await load.end(DONE_WITHIN_MS);
      findings.check('replicasAlive', fleet.replicas.length, { exactly: REPLICAS });
      await checkPromises(findings, fleet, load);
    }),
};

/** Cuts the holder off for longer than the lease, until somebody else calls, and then restores its link. */
export async function cutHolder(
  findings: Findings,
  fleet: Fleet,
  cut: Cut,
  name: string,
  phaseMs: number,
): Promise<void> {
  const { leaseMs } = fleet.terms;
  const { from, faultMs, nextCallAfterMs } = await takeover(fleet, phaseMs, ({ replica }) =>
    replica.cut(cut),
  );
  findings.check(`nextCallAfterMs.${name}`, nextCallAfterMs, { atMost: 2 * leaseMs + TAKEOVER_MS });
  await sleep(Math.max(STAYS_CUT_MS, faultMs + leaseMs + STAYS_CUT_MS - Date.now()));
  from.replica.restore();
}
