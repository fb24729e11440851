import { type FleetCase, TAKEOVER_MS } from '../case.ts';
import { Fleet } from '../fleet.ts';
import { DEFAULT } from '../lanes-file.ts';
import { CUTS } from '../link.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';
import { takeover } from '../takeover.ts';
import { cutHolder } from './cuts.ts';
import { freezeHolder } from './freeze.ts';
import { rollingRestart } from './rolling.ts';

const REPLICAS = 3;
const DONE_WITHIN_MS = 120_000;
const PHASE_MS = 531;

export const defaultLeaseCases: readonly FleetCase[] = [
  {
    name: 'default-lease-cut',
    about: 'the holder cut off once in each way, with the default lease of 15 s and timeout of 6 s',
    alone: false,
    run: (findings, folder) =>
      Fleet.run({ folder, replicas: REPLICAS, linked: true, terms: DEFAULT }, async (fleet) => {
        const load = new Load(fleet);
        load.feed(100, 50);
        for (const [n, cut] of CUTS.entries()) await cutHolder(findings, fleet, cut, cut, n * PHASE_MS);
        await load.end(DONE_WITHIN_MS);
        findings.check('replicasAlive', fleet.replicas.length, { exactly: REPLICAS });
        await checkPromises(findings, fleet, load);
      }),
  },
  {
    name: 'default-lease-processes',
    about: 'the holder killed, then frozen, then all replaced, with the default lease',
    alone: false,
    run: (findings, folder) =>
      Fleet.run({ folder, replicas: REPLICAS, terms: DEFAULT }, async (fleet) => {
        const load = new Load(fleet);
        load.feed(100, 50);
        const { nextCallAfterMs } = await takeover(fleet, PHASE_MS, ({ replica }) => replica.kill());
        findings.check('nextCallAfterMs.kill', nextCallAfterMs, {
          atMost: fleet.terms.leaseMs + TAKEOVER_MS,
        });
        await fleet.startReplica();
        await freezeHolder(findings, fleet, 'freeze', PHASE_MS);
        await rollingRestart(findings, fleet);
        await load.end(DONE_WITHIN_MS);
        await checkPromises(findings, fleet, load);
      }),
  },
];
