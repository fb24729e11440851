import { ApplicationFailure } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import pMap from 'p-map';
import { keyHolder } from '../client/key-holder.ts';
import { openLane } from '../client/open-lane.ts';
import type { LaneConfig } from '../domain/policy.ts';
import type { DispatchActivities } from './contract.ts';
import { earlierBatch } from './earlier-batch.ts';
import { takeBack } from './take-back.ts';
import { whoCancelled } from './who-cancelled.ts';

/** Enough to hide the round trips, few enough for a small server. */
const LOOKUPS_AT_ONCE = 20;

export interface DispatchParts {
  readonly client: Client;
  readonly lanes: ReadonlyMap<string, LaneConfig>;
  /** A time-skipping test runs its lane consumers itself, and has no lanes to open: see docs/decisions/0011. */
  readonly open?: typeof openLane;
}

/** The activities of everybody who dispatches. They alone know the lanes' configuration. */
export function dispatchActivities({ client, lanes, open = openLane }: DispatchParts): DispatchActivities {
  return {
    async prepareDispatch({ lane, batch, runId }) {
      const config = lanes.get(lane);
      if (config === undefined)
        throw ApplicationFailure.nonRetryable(
          `lane: expected one of ${[...lanes.keys()].join(', ')}, got "${lane}"`,
          'UnknownLane',
        );
      return { policy: config.policy, ...(await earlierBatch(client, batch, runId)) };
    },
    openLanes: async (names) => {
      const drained: Record<string, string> = {};
      const openOne = async (name: string) => {
        const because = await open(client, name);
        if (because !== null) drained[name] = because;
      };
      await pMap(names, openOne, { concurrency: LOOKUPS_AT_ONCE });
      return drained;
    },
    takeBack: (request) => takeBack(client, request),
    whoCancelled: (item) => whoCancelled(client, item),
    lookUpKeys: (keys) => pMap(keys, (key) => keyHolder(client, key), { concurrency: LOOKUPS_AT_ONCE }),
  };
}
