import type { Client } from '@temporalio/client';
import type { LaneDeskActivities } from './contract.ts';

/** What lane workflows ask of the outside world. */
export function laneDeskActivities(client: Client): LaneDeskActivities {
  return {
    async laneIsIdle(name) {
      const open = `OnelaneLane = '${name.replaceAll("'", "\\'")}' AND WorkflowType = 'deliverItem' AND ExecutionStatus = 'Running'`;
      const { count } = await client.workflow.count(`${open} AND OnelaneState NOT IN ('dead', 'uncertain')`);
      return count === 0;
    },
  };
}
