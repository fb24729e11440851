import type { Client } from '@temporalio/client';

/** Whoever asked last to cancel an item, and why, as its history keeps it. */
export async function whoCancelled(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
): Promise<{ by: string; reason: string }> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const asked = events?.findLast(
    (event) => event.workflowExecutionCancelRequestedEventAttributes,
  )?.workflowExecutionCancelRequestedEventAttributes;
  return { by: asked?.identity || 'unknown', reason: asked?.cause || 'cancelled from outside' };
}
