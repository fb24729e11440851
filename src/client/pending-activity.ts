import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';

const {
  PENDING_ACTIVITY_STATE_CANCEL_REQUESTED,
  PENDING_ACTIVITY_STATE_PAUSED,
  PENDING_ACTIVITY_STATE_SCHEDULED,
  PENDING_ACTIVITY_STATE_UNSPECIFIED,
} = proto.temporal.api.enums.v1.PendingActivityState;

const NOT_STARTED: ReadonlySet<number> = new Set([
  PENDING_ACTIVITY_STATE_UNSPECIFIED,
  PENDING_ACTIVITY_STATE_SCHEDULED,
  PENDING_ACTIVITY_STATE_PAUSED,
]);

/** What the server knows of an activity that has not ended. While one backs off, the workflow knows nothing of it. */
export interface PendingActivity {
  /** a worker has it; otherwise it waits in its queue, or for its next try, or is being taken back */
  readonly started: boolean;
  readonly cancelRequested: boolean;
  readonly attempt: number;
  readonly nextAttemptAt: Date | null;
  readonly lastHeartbeatAt: Date | null;
  readonly workerIdentity: string | null;
  readonly lastFailure: string | null;
  readonly heartbeatDetails: readonly Payload[];
}

/** The pending activity of this type, of which our workflows never have more than one. */
export function pendingActivityOf(
  description: WorkflowExecutionDescription,
  activityType: string,
): PendingActivity | undefined {
  const pending = description.raw.pendingActivities?.find((one) => one.activityType?.name === activityType);
  if (!pending) return undefined;
  const state = pending.state ?? PENDING_ACTIVITY_STATE_UNSPECIFIED;
  const started = !NOT_STARTED.has(state);
  return {
    started,
    cancelRequested: state === PENDING_ACTIVITY_STATE_CANCEL_REQUESTED,
    attempt: pending.attempt ?? 1,
    nextAttemptAt: started ? null : dateOf(pending.nextAttemptScheduleTime ?? pending.scheduledTime),
    lastHeartbeatAt: dateOf(pending.lastHeartbeatTime ?? pending.lastStartedTime),
    workerIdentity: pending.lastWorkerIdentity || null,
    lastFailure: pending.lastFailure?.message ?? null,
    heartbeatDetails: pending.heartbeatDetails?.payloads ?? [],
  };
}

interface Timestamp {
  readonly seconds?: { toNumber(): number } | null;
  readonly nanos?: number | null;
}

function dateOf(timestamp: Timestamp | null | undefined): Date | null {
  if (!timestamp?.seconds) return null;
  return new Date(timestamp.seconds.toNumber() * 1000 + Math.floor((timestamp.nanos ?? 0) / 1e6));
}
