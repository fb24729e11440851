import { CancellationScope, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { DispatchActivities } from '../activities/contract.ts';
import type { Delivery, Finding } from '../domain/delivery.ts';
import { laneName } from '../domain/ids.ts';
import { laneActivities } from './lane-activities.ts';

/** An operator waits for it. A lane that is paused, or closed for longer, tells nothing. */
const WITHIN = '20s';

const { openLanes } = proxyActivities<DispatchActivities>({
  summary: 'The lane through which the upstream is asked',
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
});

/**
 * Asks the upstream whether an item was done, in its lane's slot and at its pace.
 *
 * @returns null where the upstream can't be asked
 */
export async function lookUpItem({ item, lane, request, policy }: Delivery): Promise<Finding | null> {
  const path = request.lookupPath;
  if (path === null) return null;
  const name = laneName(lane, item.partition ?? null);
  await openLanes([name]);
  const { lookUp } = laneActivities(name, policy, `GET ${path} in lane ${name}`);
  const { key, correlationId = null } = item;
  try {
    return await CancellationScope.withTimeout(WITHIN, () =>
      lookUp({ lane: name, key, correlationId, path, policy }),
    );
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return { kind: 'noEvidence', why: `lane ${name} did not ask within ${WITHIN}` };
  }
}
