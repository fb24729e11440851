import { ActivityCancellationType, type ActivityInterfaceFor, proxyActivities } from '@temporalio/workflow';
import type { LaneActivities } from '../activities/contract.ts';
import { laneTaskQueue } from '../domain/ids.ts';
import type { DeliveryPolicy } from '../domain/policy.ts';

/** What a lane's holder does in its slot. `lane` is the full name; `summary` says what for, in the Temporal UI. */
export function laneActivities(
  lane: string,
  policy: DeliveryPolicy,
  summary: string,
): ActivityInterfaceFor<LaneActivities> {
  return proxyActivities<LaneActivities>({
    taskQueue: laneTaskQueue(lane),
    summary,
    // No scheduleToStart: the task queue is the durable queue, and an item may wait in it for days.
    // No scheduleToClose: the deadline is checked before a call leaves and must not cut one in flight, and the
    // server would fail a retry at once whose Retry-After is longer than what remains.
    // startToClose bounds one attempt that still beats but makes no progress.
    startToCloseTimeout: policy.slotWaitMs,
    // How long a worker may go unheard before its item is eligible again.
    heartbeatTimeout: policy.leaseMs,
    // Only for attempts whose worker was lost; all others bring their own delay. No maximumAttempts: throttled
    // attempts would count, and the budget is kept by the activity.
    retry: {
      initialInterval: policy.retry.initialMs,
      maximumInterval: policy.retry.maxMs,
      backoffCoefficient: 2,
    },
    // A call in flight ends as what it becomes.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
}
