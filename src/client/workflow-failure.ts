import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';

/** Why a closed workflow did not complete, as whoever failed said it; null when it completed. */
export async function whyFailed(
  client: Client,
  workflowId: string,
  runId: string | undefined,
): Promise<string | null> {
  try {
    await client.workflow.getHandle(workflowId, runId).result();
    return null;
  } catch (error) {
    if (error instanceof WorkflowFailedError) return rootOf(error).message;
    throw error;
  }
}

/** What the activity said, below the SDK's own errors around it. */
export function rootOf(error: Error): Error {
  return error.cause instanceof Error && !(error instanceof ApplicationFailure) ? rootOf(error.cause) : error;
}
