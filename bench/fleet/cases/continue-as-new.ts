import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetCase } from '../case.ts';
import { longestGapMs } from '../door.ts';
import { Fleet } from '../fleet.ts';
import { laneWorkflowId } from '../../../src/domain/ids.ts';
import { LANE } from '../lanes-file.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';
import { atWork } from '../takeover.ts';

const REPLICAS = 3;
const LASTS_MS = 40_000;
const DONE_WITHIN_MS = 120_000;
const LONGEST_GAP_MS = 1_999;
/** A hold takes about 14 events, each batch that opens the lane about four. */
const EVENTS_PER_RUN = 30;
/** Small, so that many of them open the lane while calls leave. */
const PER_BATCH = 10;

export const continueAsNewCase: FleetCase = {
  name: 'continue-as-new',
  about: 'the lane workflow continues as new again and again under load',
  alone: false,
  run: (findings, folder) => {
    const dynamicConfig = { 'limit.historyCount.suggestContinueAsNew': EVENTS_PER_RUN };
    return Fleet.run({ folder, replicas: REPLICAS, dynamicConfig }, async (fleet) => {
      const load = new Load(fleet);
      load.feed(40, PER_BATCH);
      const { sinceMs } = await atWork(fleet);
      await sleep(LASTS_MS);
      const untilMs = Date.now();
      const arrivals = await fleet.door.arrivals();
      findings.check('longestGapMs', longestGapMs(arrivals, sinceMs, untilMs), { atMost: LONGEST_GAP_MS });
      findings.check('runs', await runsOfLane(fleet), { atLeast: 3 });
      await load.end(DONE_WITHIN_MS);
      await checkPromises(findings, fleet, load);
      await load.checkBudget(findings);
    });
  },
};

async function runsOfLane({ client }: Fleet): Promise<number> {
  const { count } = await client.workflow.count(`WorkflowId = '${laneWorkflowId(LANE)}'`);
  return count;
}
