import type { Client } from '@temporalio/client';
import { countOpenItems, isReconciling } from '../client/lists.ts';
import type { LaneDeskActivities } from './contract.ts';

/** What lane workflows ask of the outside world. */
export function laneDeskActivities(client: Client): LaneDeskActivities {
  return {
    laneIsIdle: async (name) =>
      (await countOpenItems(client, name, 'unparked')) === 0 && !(await isReconciling(client, name)),
  };
}
