import { setTimeout as sleep } from 'node:timers/promises';
import { checkAudit } from '../audit.ts';
import type { FleetCase } from '../case.ts';
import { Fleet } from '../fleet.ts';
import { Load } from '../load.ts';
import { type Usage, usageOf } from '../usage.ts';

const LANES = 300;
const DONE_WITHIN_MS = 300_000;
/** After the last item: what was opened has been taken up, and garbage had time to be collected. */
const SETTLES_MS = 20_000;
const WATCHED_MS = 30_000;
const MOST_MB_PER_LANE = 1;
/** Of one core, in percent. */
const MOST_CPU_PERCENT_PER_LANE = 0.15;
/** One upstream stands for all tenants', each with a quota of its own. */
const PLENTY = { requests: 100_000, perMs: 1_000 };

export const partitionsCase: FleetCase = {
  name: 'partitions',
  about: '300 partition lanes in one process: memory and idle CPU of each',
  alone: true,
  run: (findings, folder) =>
    Fleet.run({ folder, replicas: 0, partitioned: true, quota: PLENTY }, async (fleet) => {
      // Batches and items in a process of their own: what they leave in memory is not the lanes'.
      await fleet.startReplica(['dispatch']);
      const replica = await fleet.startReplica(['lanes']);
      const without = await idle(replica.pid);
      const load = new Load(fleet);
      await load.publishItems(
        Array.from({ length: LANES }, (_, i) => ({
          key: `item:${i}`,
          partition: `tenant-${i}`,
          payload: { number: i },
        })),
      );
      await load.end(DONE_WITHIN_MS);
      await sleep(SETTLES_MS);
      const withLanes = await idle(replica.pid);
      const mb = (withLanes.rssMb - without.rssMb) / LANES;
      const cpuPercent = (withLanes.cpuPercent - without.cpuPercent) / LANES;
      findings.check('mbPerLane', mb, { atMost: MOST_MB_PER_LANE });
      findings.check('cpuPercentPerLane', cpuPercent, { atMost: MOST_CPU_PERCENT_PER_LANE });
      findings.tell('processMb', withLanes.rssMb);
      findings.tell('processCpuPercent', withLanes.cpuPercent);
      await load.checkAccount(findings);
      await checkAudit(findings, fleet);
    }),
};

interface Idle {
  readonly rssMb: number;
  readonly cpuPercent: number;
}

async function idle(pid: number): Promise<Idle> {
  const begin = await usageOf(pid);
  await sleep(WATCHED_MS);
  const end = await usageOf(pid);
  return { rssMb: end.rssMb, cpuPercent: percentOfCore(begin, end) };
}

function percentOfCore(begin: Usage, end: Usage): number {
  return (100 * (end.cpuMs - begin.cpuMs)) / (end.atMs - begin.atMs);
}
