import { setTimeout as sleep } from 'node:timers/promises';
import { type FleetCase, TAKEOVER_MS } from '../case.ts';
import type { Findings } from '../findings.ts';
import { Fleet } from '../fleet.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';
import { takeover } from '../takeover.ts';

const REPLICAS = 3;
const TIMES = 2;
const DONE_WITHIN_MS = 120_000;
/** After SIGCONT, in which a holder that does not know that it lost the lane would call. */
const WATCHED_MS = 3_000;

export const freezeCase: FleetCase = {
  name: 'freeze',
  about: 'SIGSTOP of the holder for longer than the lease, then SIGCONT, twice',
  alone: false,
  run: (findings, folder) =>
    Fleet.run({ folder, replicas: REPLICAS }, async (fleet) => {
      const load = new Load(fleet);
      load.feed(100, 50);
      for (let n = 1; n <= TIMES; n++) await freezeHolder(findings, fleet, String(n), n * 41);
      await load.end(DONE_WITHIN_MS);
      findings.check('replicasAlive', fleet.replicas.length, { exactly: REPLICAS });
      await checkPromises(findings, fleet, load);
    }),
};

/** Stops the holder for longer than the lease, until somebody else calls, and lets it go on then. */
export async function freezeHolder(
  findings: Findings,
  fleet: Fleet,
  name: string,
  phaseMs: number,
): Promise<void> {
  const { leaseMs } = fleet.terms;
  const { from, faultMs, nextCallAfterMs } = await takeover(fleet, phaseMs, ({ replica }) =>
    replica.freeze(),
  );
  findings.check(`nextCallAfterMs.${name}`, nextCallAfterMs, { atMost: 2 * leaseMs + TAKEOVER_MS });
  await sleep(Math.max(0, faultMs + leaseMs + TAKEOVER_MS - Date.now()));
  from.replica.thaw();
  await sleep(WATCHED_MS);
}
