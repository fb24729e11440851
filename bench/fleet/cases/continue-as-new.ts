import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetCase } from '../case.ts';
import { longestGapMs } from '../door.ts';
import { Fleet } from '../fleet.ts';
import { openLane } from '../../../src/client/open-lane.ts';
import { laneWorkflowId } from '../../../src/domain/ids.ts';
import { LANE } from '../lanes-file.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';
import { atWork } from '../takeover.ts';

const REPLICAS = 3;
const LASTS_MS = 40_000;
const DONE_WITHIN_MS = 120_000;
const LONGEST_GAP_MS = 1_999;
/** A hold takes about 14 events, each process that says that it stands by about four. */
const EVENTS_PER_RUN = 30;
const STANDS_BY_EVERY_MS = 500;

export const continueAsNewCase: FleetCase = {
  name: 'continue-as-new',
  about: 'the lane workflow continues as new again and again under load',
  alone: false,
  run: (findings, folder) => {
    const dynamicConfig = { 'limit.historyCount.suggestContinueAsNew': EVENTS_PER_RUN };
    return Fleet.run({ folder, replicas: REPLICAS, dynamicConfig }, async (fleet) => {
      const load = new Load(fleet);
      load.feed(100, 50);
      const { sinceMs } = await atWork(fleet);
      await standByAgainAndAgain(fleet);
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

/** As processes do that start: each message makes the lane's history longer, and some arrive while it begins anew. */
async function standByAgainAndAgain({ client }: Fleet): Promise<void> {
  const untilMs = Date.now() + LASTS_MS;
  while (Date.now() < untilMs) {
    await openLane(client, LANE, { process: 'bench', fingerprint: 'none' });
    await sleep(STANDS_BY_EVERY_MS);
  }
}

async function runsOfLane({ client }: Fleet): Promise<number> {
  const { count } = await client.workflow.count(`WorkflowId = '${laneWorkflowId(LANE)}'`);
  return count;
}
