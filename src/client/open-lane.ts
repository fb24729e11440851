import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { z } from 'zod';
import { LANES_TASK_QUEUE, laneWorkflowId, parseLaneName } from '../domain/ids.ts';
import type { LaneRecord } from '../domain/lane-record.ts';
import type { lane } from '../workflows/index.ts';
import type { LaneOpening } from '../workflows/lane.ts';
import { type Opened, opened } from '../workflows/lane-messages.ts';
import { ONELANE_LANE } from '../workflows/visibility.ts';
import { readHistory } from './history.ts';
import { describeOrUndefined } from './key-holder.ts';

/**
 * Makes sure that a lane is open, and says who opened it. A lane that is idle does not end on this news.
 *
 * @returns why it takes nothing in any more; null when it does
 */
export async function openLane(client: Client, name: string, by: Opened = {}): Promise<string | null> {
  const { lane: base, partition } = parseLaneName(name);
  const description = await describeOrUndefined(client, laneWorkflowId(name));
  const open = description?.status.name === 'RUNNING';
  // Only a partition's lane may be about to end and has to hear of it; each signal makes a history longer.
  if (open && partition === null && by.process === undefined) return drainingBecause(description);
  const earlier = await earlierRun(client, description);
  await client.workflow.signalWithStart<typeof lane, [Opened]>('lane', {
    workflowId: laneWorkflowId(name),
    taskQueue: LANES_TASK_QUEUE,
    args: [{ lane: base, partition, ...earlier }],
    signal: opened,
    signalArgs: [by],
    // Workflow tasks are on the way of a takeover: one that a dead process holds must not cost ten seconds.
    workflowTaskTimeout: '1s',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    typedSearchAttributes: [{ key: ONELANE_LANE, value: name }],
    staticSummary: `lane ${name}: one holder, one pace`,
  });
  return open ? drainingBecause(description) : null;
}

/** What an earlier run of the lane left behind, for a run that has to begin anew. */
async function earlierRun(
  client: Client,
  description: WorkflowExecutionDescription | undefined,
): Promise<Pick<LaneOpening, 'last' | 'epoch'>> {
  // Closed runs are known for the retention, which is longer than any window: nobody has called.
  if (description === undefined) return { last: { kind: 'none' } };
  if (description.status.name !== 'COMPLETED')
    return { last: { kind: 'unknown' }, epoch: await lastEpochOf(client, description) };
  const record: LaneRecord = await client.workflow
    .getHandle<typeof lane>(description.workflowId, description.runId)
    .result();
  return { last: record.last, epoch: record.epoch };
}

const EpochSchema = z.object({ epoch: z.number() });
const OpeningSchema = z.object({ epoch: z.number().default(0), record: EpochSchema.default({ epoch: 0 }) });

/** The last epoch that a run gave out which was terminated, or ended in another way that leaves no result. */
async function lastEpochOf(
  client: Client,
  { workflowId, runId }: WorkflowExecutionDescription,
): Promise<number> {
  const { input, activityInputs } = await readHistory(client, workflowId, runId);
  const { epoch, record } = OpeningSchema.parse(input);
  const held = activityInputs.flatMap(({ activityType, input: order }) =>
    activityType === 'holdLane' ? [EpochSchema.parse(order).epoch] : [],
  );
  return Math.max(epoch, record.epoch, ...held);
}

const DrainingSchema = z.object({ drainingBecause: z.string() });

/** Read from its memo, so that no worker has to answer. */
function drainingBecause({ memo: found }: WorkflowExecutionDescription): string | null {
  const memo = DrainingSchema.safeParse(found);
  return memo.success ? memo.data.drainingBecause : null;
}
