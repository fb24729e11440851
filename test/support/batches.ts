import { QueryNotRegisteredError, WorkflowNotFoundError } from '@temporalio/client';
import type { Batch, ItemOutcome } from '../../src/client.ts';
import { progress } from '../../src/workflows/messages.ts';
import type { Stage } from './stage.ts';
import { until } from './wait.ts';

interface SimpleBatch extends Batch {
  items: { key: string; payload: number }[];
}

/** A batch named like its lane, whose items have the keys `<name>:<n>`. */
export function batchOf(name: string, count: number): SimpleBatch {
  const items = Array.from({ length: count }, (_, n) => ({ key: `${name}:${n}`, payload: n }));
  return { batchId: name, lane: name, items };
}

/** Waits until a batch has started some of its items; of one that is large, most are not started then. */
export async function untilStarting({ client }: Stage, batchId: string): Promise<void> {
  const handle = client.workflow.getHandle(`batch/${batchId}`);
  await until(`batch ${batchId} is being started`, async () => {
    try {
      return (await handle.query(progress)).counts.accepted > 0;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError || error instanceof QueryNotRegisteredError) return false;
      throw error;
    }
  });
}

/** Ends a batch from outside, and waits until the server lists it so: publishing again asks that list. */
export async function terminateBatch({ client }: Stage, batchId: string): Promise<void> {
  const workflowId = `batch/${batchId}`;
  const handle = client.workflow.getHandle(workflowId);
  const { runId } = await handle.describe();
  await handle.terminate('to see what goes on without it');
  const query = `OnelaneBatch = '${batchId.replaceAll("'", "\\'")}' AND WorkflowType = 'dispatchBatch' AND ExecutionStatus = 'Terminated'`;
  await until(`${workflowId} is listed as terminated`, async () => {
    for await (const execution of client.workflow.list({ query }))
      if (execution.runId === runId && execution.memo?.['keyTemplate']) return true;
    return false;
  });
}

/** Does it to the end, and returns what came of each item. */
export async function outcomesOf(acting: AsyncIterable<ItemOutcome>): Promise<ItemOutcome[]> {
  const outcomes: ItemOutcome[] = [];
  for await (const outcome of acting) outcomes.push(outcome);
  return outcomes;
}
