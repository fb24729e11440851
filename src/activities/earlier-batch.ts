import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { z } from 'zod';
import { quoted } from '../client/lists.ts';
import { type BatchOrders, BatchOrdersSchema } from '../domain/batch.ts';
import { parseBatchWorkflowId } from '../domain/ids.ts';
import { GRPC, grpcCodeOf } from '../grpc.ts';
import type { BatchMemo, DispatchPlan } from './contract.ts';

/** Of a long batch only a few pages are published at once, and the pages before them know what was ordered. */
const SIBLINGS_ASKED = 20;

const BatchMemoSchema: z.ZodType<BatchMemo> = z.object({ content: z.string(), keyTemplate: z.string() });

/** What is known of one page of a batch before it starts: its own earlier run, and what operators said of the batch. */
export async function earlierBatch(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<Omit<DispatchPlan, 'policy'>> {
  try {
    const earlier = await earlierRun(client, workflowId, runId);
    const orders = [
      ...(earlier === undefined ? [] : [ordersIn(earlier)]),
      ...(await ordersOfSiblings(client, workflowId)),
    ];
    return {
      earlier: earlier === undefined ? null : BatchMemoSchema.parse(earlier.memo),
      orders: {
        held: orders.find(({ held }) => held !== null)?.held ?? null,
        discarded: orders.find(({ discarded }) => discarded !== null)?.discarded ?? null,
      },
    };
  } catch (error) {
    // The time-skipping test server keeps no list of workflows.
    if (grpcCodeOf(error) === GRPC.unimplemented)
      return { earlier: null, orders: { held: null, discarded: null } };
    throw error;
  }
}

/** The newest one that came as far as to know its policy. */
async function earlierRun(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<WorkflowExecutionInfo | undefined> {
  for await (const execution of client.workflow.list({ query: `WorkflowId = ${quoted(workflowId)}` }))
    if (execution.runId !== runId && BatchMemoSchema.safeParse(execution.memo).success) return execution;
  return undefined;
}

/** Pages that arrive after a batch was paused or discarded are meant, too. */
async function ordersOfSiblings(client: Client, workflowId: string): Promise<BatchOrders[]> {
  const batchId = parseBatchWorkflowId(workflowId)?.batchId ?? '';
  const query = `OnelaneBatch = ${quoted(batchId)} AND WorkflowType = 'dispatchBatch'`;
  const found: BatchOrders[] = [];
  for await (const execution of client.workflow.list({ query, pageSize: SIBLINGS_ASKED })) {
    if (execution.workflowId === workflowId) continue;
    const orders = ordersIn(execution);
    // A page that has ended is not told when the batch is resumed.
    found.push(execution.status.name === 'RUNNING' ? orders : { ...orders, held: null });
    if (found.length === SIBLINGS_ASKED) break;
  }
  return found;
}

function ordersIn({ memo }: WorkflowExecutionInfo): BatchOrders {
  return BatchOrdersSchema.parse(memo ?? {});
}
