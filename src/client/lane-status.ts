import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import proto from '@temporalio/proto';
import pMap from 'p-map';
import { laneTaskQueue, laneWorkflowId, parseLaneWorkflowId } from '../domain/ids.ts';
import { type HoldReport, HoldReportSchema, type LaneRecord } from '../domain/lane-record.ts';
import { grpcCodeOf } from '../grpc.ts';
import { lane as laneQuery } from '../workflows/lane-messages.ts';
import { NotFoundError } from './errors.ts';
import { describeOrUndefined } from './key-holder.ts';
import { countOpenItems } from './lists.ts';
import { decodePayloads } from './payloads.ts';
import { pendingActivityOf } from './pending-activity.ts';

const QUERY_WITHIN_MS = 5_000;
const LOOKUPS_AT_ONCE = 10;

/** Where a lane stands. Durations are milliseconds. */
export interface LaneStatus {
  readonly name: string;
  /** `unheld`: nobody stands by for it. `unknown`: no worker answered, so only the server's own view is here */
  readonly state: 'open' | 'closed' | 'paused' | 'unheld' | 'unknown';
  /** everything durable about it; null when no worker answered */
  readonly record: LaneRecord | null;
  /** since the holder was last heard of */
  readonly leaseAgeMs: number | null;
  /** calls in the newest window, against how many it may hold */
  readonly callsInWindow: number | null;
  readonly limit: { readonly requests: number; readonly perMs: number } | null;
  /** items that a holder could take now */
  readonly queued: number;
  readonly oldestEligibleMs: number | null;
  /** items that are neither ended nor parked */
  readonly open: number;
  readonly parked: number;
  /** at the full limit, everything that is open; null while nothing drains */
  readonly drainsInMs: number | null;
}

/** All open lanes, by name. */
export async function laneStatuses(client: Client): Promise<LaneStatus[]> {
  const names: string[] = [];
  for await (const { workflowId } of client.workflow.list({
    query: `WorkflowType = 'lane' AND ExecutionStatus = 'Running'`,
  })) {
    const name = parseLaneWorkflowId(workflowId);
    if (name !== undefined) names.push(name);
  }
  return await pMap(names.toSorted(), (name) => laneStatus(client, name), { concurrency: LOOKUPS_AT_ONCE });
}

/** @throws NotFoundError */
export async function laneStatus(client: Client, name: string): Promise<LaneStatus> {
  const description = await describeOrUndefined(client, laneWorkflowId(name));
  if (description?.status.name !== 'RUNNING')
    throw new NotFoundError(
      `lane "${name}": no such lane is open; its workflow would be ${laneWorkflowId(name)}`,
    );
  const [record, report, queue, open, parked] = await Promise.all([
    recordOf(client, name),
    reportOf(client, description),
    backlogOf(client, name),
    countOpenItems(client, name, 'unparked'),
    countOpenItems(client, name, 'parked'),
  ]);
  const state = stateOf(record);
  const limit = report && { requests: report.window.requests, perMs: report.window.perMs };
  return {
    name,
    state,
    record,
    leaseAgeMs: leaseAgeOf(description),
    callsInWindow: report && callsInWindow(report),
    limit,
    queued: queue.queued,
    oldestEligibleMs: queue.oldestMs,
    open,
    parked,
    // A lane that is paused or that nobody holds does not drain.
    drainsInMs:
      limit && state !== 'paused' && state !== 'unheld' ? (open * limit.perMs) / limit.requests : null,
  };
}

async function recordOf(client: Client, name: string): Promise<LaneRecord | null> {
  const handle = client.workflow.getHandle(laneWorkflowId(name));
  try {
    return await client.withDeadline(Date.now() + QUERY_WITHIN_MS, () => handle.query(laneQuery));
  } catch (error) {
    // Nobody who runs lane workflows answered in time.
    if (grpcCodeOf(error) !== undefined) return null;
    throw error;
  }
}

/** What the holder told with its newest beat: the lane's only pending activity, while it is held, is the lease. */
async function reportOf(
  client: Client,
  description: WorkflowExecutionDescription,
): Promise<HoldReport | null> {
  const [details] = await decodePayloads(
    client,
    pendingActivityOf(description, 'holdLane')?.heartbeatDetails,
  );
  return HoldReportSchema.safeParse(details).data ?? null;
}

function leaseAgeOf(description: WorkflowExecutionDescription): number | null {
  const heardAt = pendingActivityOf(description, 'holdLane')?.lastHeartbeatAt;
  return heardAt ? Math.max(0, Date.now() - heardAt.getTime()) : null;
}

function callsInWindow({ window }: HoldReport): number {
  return window.ages.filter(([age]) => age < window.perMs).reduce((sum, [, count]) => sum + count, 0);
}

function stateOf(record: LaneRecord | null): LaneStatus['state'] {
  if (record === null) return 'unknown';
  if (record.paused !== null) return 'paused';
  if (record.holder === null) return 'unheld';
  return record.closedUntilMs > Date.now() ? 'closed' : 'open';
}

async function backlogOf(client: Client, name: string): Promise<{ queued: number; oldestMs: number | null }> {
  const { stats } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: laneTaskQueue(name) },
    taskQueueType: proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    reportStats: true,
  });
  const queued = Number(stats?.approximateBacklogCount ?? 0);
  const age = stats?.approximateBacklogAge;
  const oldestMs = Number(age?.seconds ?? 0) * 1000 + Math.floor((age?.nanos ?? 0) / 1e6);
  return { queued, oldestMs: queued === 0 ? null : oldestMs };
}
