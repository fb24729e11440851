import type { FleetCase } from '../case.ts';
import { loggedShare } from '../audit.ts';
import type { Findings } from '../findings.ts';
import { Fleet } from '../fleet.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';

const ITEMS = 300;
const DONE_WITHIN_MS = 120_000;
/** Of requests / (per + mean latency). */
const LEAST_SHARE = 0.99;

export const throughputCases: readonly FleetCase[] = [1, 3, 5].flatMap((replicas) =>
  [1, 4].map((partitions) => throughput(replicas, partitions)),
);

/** Four partitions are what most servers have; a single slot waits on one at a time, so those are only told. */
function throughput(replicas: number, taskQueuePartitions: number): FleetCase {
  const suffix = taskQueuePartitions === 1 ? '' : `-${taskQueuePartitions}-partitions`;
  return {
    name: `replicas-${replicas}${suffix}`,
    about: `${ITEMS} items, ${replicas} replicas, ${taskQueuePartitions} task-queue partitions`,
    alone: true,
    run: (findings, folder) =>
      Fleet.run({ folder, replicas, taskQueuePartitions }, async (fleet) => {
        const load = new Load(fleet);
        await load.publish(ITEMS);
        await load.end(DONE_WITHIN_MS);
        await checkPromises(findings, fleet, load);
        await judgeShare(findings, fleet, taskQueuePartitions === 1);
      }),
  };
}

async function judgeShare(findings: Findings, fleet: Fleet, bound: boolean): Promise<void> {
  const { shareOfReachable, meanLatencyMs } = await loggedShare(fleet);
  // null: there were not two calls to measure between.
  const share = shareOfReachable ?? NaN;
  if (bound) findings.check('shareOfReachable', share, { atLeast: LEAST_SHARE });
  else findings.tell('shareOfReachable', share);
  findings.tell('meanLatencyMs', meanLatencyMs);
}
