import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { z } from 'zod';
import type { DrainedLanes } from '../domain/admission.ts';
import { type Batch, type BatchOrders, BatchOrdersSchema, parseBatch } from '../domain/batch.ts';
import { type LanePolicy, LanePolicySchema } from '../domain/policy.ts';
import { NotFoundError } from './errors.ts';
import { readHistory } from './history.ts';

/** What was published, and what it is dispatched by. */
export interface ReadBatch {
  readonly batch: Batch;
  /** undefined: it has not come so far */
  readonly plan: Plan | undefined;
  readonly orders: BatchOrders;
}

export interface Plan {
  readonly policy: LanePolicy;
  readonly drained: DrainedLanes;
}

const PreparedSchema = z.object({ policy: LanePolicySchema });
const DrainedSchema = z.record(z.string(), z.string());

/**
 * Reads one page of a batch off its workflow's history and memo, with no worker running.
 *
 * @throws NotFoundError
 */
export async function readBatch(
  client: Client,
  { workflowId, runId, memo }: WorkflowExecutionDescription,
): Promise<ReadBatch> {
  const { input, activityResults } = await readHistory(client, workflowId, runId);
  const parsed = parseBatch(input);
  if (!parsed.ok) throw new NotFoundError(`${workflowId} is not a batch: ${parsed.reason}`);
  const firstResult = (asked: string) =>
    activityResults.find(({ activityType }) => activityType === asked)?.result;
  const policy = PreparedSchema.safeParse(firstResult('prepareDispatch')).data?.policy;
  const drained = DrainedSchema.safeParse(firstResult('openLanes')).data ?? {};
  const orders = BatchOrdersSchema.parse(memo ?? {});
  return { batch: parsed.batch, plan: policy && { policy, drained }, orders };
}
