import type { Client } from '@temporalio/client';
import { laneWorkflowId } from '../domain/ids.ts';
import { NotFoundError } from './errors.ts';
import { describeOrUndefined } from './key-holder.ts';
import { itemsOf } from './lists.ts';

/**
 * A name that was mistyped must not look like a lane in which nothing happens.
 *
 * @throws NotFoundError when neither a lane of this name nor an item of it is known
 */
export async function checkLane(client: Client, lane: string): Promise<void> {
  const { count } = await client.workflow.count(itemsOf(lane));
  if (count > 0 || (await describeOrUndefined(client, laneWorkflowId(lane))) !== undefined) return;
  throw new NotFoundError(`lane "${lane}": neither the lane nor an item of it is known`);
}
