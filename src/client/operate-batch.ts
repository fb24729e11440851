import { type Client, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, type UpdateDefinition } from '@temporalio/common';
import type { BatchAnswer } from '../domain/batch.ts';
import type { dispatchBatch } from '../workflows/index.ts';
import * as messages from '../workflows/messages.ts';
import { type Named, checkNamed } from '../workflows/named.ts';
import { type ArrivedPage, arrivedPages } from './batch-pages.ts';
import { BatchRefusedError, UnansweredError } from './errors.ts';
import { type BatchAct, type ItemOutcome, tellItems } from './tell-items.ts';
import { isUnanswered } from './unanswered.ts';

/** Items that are being started meanwhile are waited for. */
const ANSWERED_WITHIN_MS = 60_000;

/**
 * What an operator does to what is left of a batch, on all of its pages, under a name and for a reason. First each
 * page is told, so that it starts nothing otherwise any more; then each item is, by itself, and its outcome is yielded.
 * It can be interrupted at any time, and done again: what holds already stays as it is.
 *
 * @throws NotFoundError no page of the batch has arrived
 * @throws BatchRefusedError it is not done in anybody's name, or for no reason
 * @throws UnansweredError no worker answered in time; it may still take effect
 */
export const operateBatch = {
  /** Takes back what is not being sent; resolves for an item when a call of it in flight has ended. */
  pause: (client: Client, batchId: string, act: Named) => operate(client, batchId, 'pause', act),
  /** Lets items go on where they stood. */
  resume: (client: Client, batchId: string, act: Named) => operate(client, batchId, 'resume', act),
  /** Gives up all that has not ended, parked items too. One that is being sent is refused: do it again later. */
  discard: (client: Client, batchId: string, act: Named) => operate(client, batchId, 'discard', act),
};

async function* operate(
  client: Client,
  batchId: string,
  act: BatchAct,
  named: Named,
): AsyncGenerator<ItemOutcome, void> {
  refuseNameless(named);
  const pages: number[] = [];
  for await (const arrived of arrivedPages(client, batchId)) {
    await tellPage(client, arrived, act, named);
    pages.push(arrived.page);
  }
  for (const page of pages) yield* tellItems(client, { batchId, page }, act, named);
}

/** A page that is closed would not be asked, and its items would each be asked in vain. */
function refuseNameless(named: Named): void {
  try {
    checkNamed(named, 'BatchRefused');
  } catch (error) {
    throw error instanceof ApplicationFailure ? new BatchRefusedError(error.message) : error;
  }
}

/** A page whose workflow is closed starts nothing, and needs not be told. */
async function tellPage(
  client: Client,
  { description: { workflowId, runId, status } }: ArrivedPage,
  act: BatchAct,
  { by, reason }: Named,
): Promise<void> {
  if (status.name !== 'RUNNING') return;
  const handle = client.workflow.getHandle<typeof dispatchBatch>(workflowId, runId);
  try {
    await client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () =>
      handle.executeUpdate(pageUpdateOf(act), { args: [{ by, reason }] }),
    );
  } catch (error) {
    // Closed meanwhile.
    if (error instanceof WorkflowNotFoundError) return;
    if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
      if (error.cause.type === 'AcceptedUpdateCompletedWorkflow') return;
      throw new BatchRefusedError(`${workflowId}: ${error.cause.message}`);
    }
    throw isUnanswered(error) ? unanswered(workflowId) : error;
  }
}

function pageUpdateOf(act: BatchAct): UpdateDefinition<BatchAnswer, [Named]> {
  switch (act) {
    case 'pause':
      return messages.holdBatch;
    case 'resume':
      return messages.releaseBatch;
    case 'discard':
      return messages.discardRest;
  }
}

function unanswered(workflowId: string): UnansweredError {
  return new UnansweredError(
    `${workflowId}: no worker answered within ${ANSWERED_WITHIN_MS / 1000} s. It may still take effect when one is ` +
      'back; ask again then, which changes nothing twice',
  );
}
