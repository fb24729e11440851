import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { describeOrUndefined } from '../../src/client/key-holder.ts';
import { laneWorkflowId } from '../../src/domain/ids.ts';

const { PENDING_ACTIVITY_STATE_STARTED } = proto.temporal.api.enums.v1.PendingActivityState;

/** One hold of the lane. */
export interface Hold {
  /** tells one hold from another */
  readonly id: string;
  /** the process that was given the lane */
  readonly pid: number;
  /** epoch ms, by the server's clock, which is the bench's own */
  readonly sinceMs: number;
}

/**
 * Who holds a lane, as the server itself knows it: the `holdLane` activity that has started. A query would say
 * more, but it would need a worker, perhaps the one that was just killed, and so disturb what is measured.
 */
export async function currentHold(client: Client, lane: string): Promise<Hold | undefined> {
  const description = await describeOrUndefined(client, laneWorkflowId(lane));
  const hold = description?.raw.pendingActivities?.find((one) => one.activityType?.name === 'holdLane');
  if (!description || hold?.state !== PENDING_ACTIVITY_STATE_STARTED) return undefined;
  const pid = /^(\d+)@/.exec(hold.lastWorkerIdentity ?? '')?.[1];
  const { seconds, nanos } = hold.lastStartedTime ?? {};
  if (pid === undefined || !seconds) return undefined;
  return {
    id: `${description.runId}:${hold.activityId}`,
    pid: Number(pid),
    sinceMs: Number(seconds) * 1_000 + Math.floor((nanos ?? 0) / 1e6),
  };
}
