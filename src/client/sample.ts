import { createHash } from 'node:crypto';
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { itemsOf } from './lists.ts';

/** Which of the items that completed are looked at. The same seed draws the same ones of the same items. */
export interface Sample {
  readonly size: number;
  readonly seed: string;
}

/** Draws evenly from all items of a lane that completed and are still kept, while holding only as many as are asked for. */
export async function drawSample(
  client: Client,
  lane: string | null,
  { size, seed }: Sample,
): Promise<WorkflowExecutionInfo[]> {
  let drawn: { lot: string; info: WorkflowExecutionInfo }[] = [];
  const query = `${itemsOf(lane)} AND ExecutionStatus = 'Completed'`;
  for await (const info of client.workflow.list({ query })) {
    const lot = createHash('sha256').update(`${seed}\n${info.workflowId}`).digest('hex');
    drawn.push({ lot, info });
    if (drawn.length >= 2 * size) drawn = lowest(drawn, size);
  }
  return lowest(drawn, size).map(({ info }) => info);
}

function lowest<T extends { readonly lot: string }>(drawn: readonly T[], size: number): T[] {
  return drawn.toSorted((a, b) => (a.lot < b.lot ? -1 : 1)).slice(0, size);
}
