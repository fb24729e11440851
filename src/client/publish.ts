import {
  type Client,
  WithStartWorkflowOperation,
  type WorkflowExecutionDescription,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { type Admission, type Batch, type BatchProgress, contentHash, parseBatch } from '../domain/batch.ts';
import { SEARCH_ATTRIBUTE_NAMES, type SearchAttribute, batchWorkflowId } from '../domain/ids.ts';
import { notReady } from '../namespace.ts';
import type { dispatchBatch } from '../workflows/index.ts';
import { admissions } from '../workflows/messages.ts';
import { type Asking, startOptions } from './batch-start.ts';
import { carriable, givenKey } from './carriable.ts';
import { BatchIdTakenError, BatchRefusedError, NotStoredError } from './errors.ts';
import { describeOrUndefined } from './key-holder.ts';

/** Longer than a page of 500 takes to start on a slow server; whoever wants an answer sooner says so. */
export const DEFAULT_WAIT_MS = 60_000;
/** Without workers a start takes a server some milliseconds. */
const STORED_WITHIN_MS = 30_000;

export interface PublishOptions {
  /**
   * how long to wait for admissions before they are reported as `pending`, in milliseconds; 0: only make the batch
   * durable, and tell its admissions if it has ended already
   */
  readonly waitMs?: number;
}

/** What became of a publish. The batch is durable in any case. */
export interface Published {
  readonly batchId: string;
  readonly workflowId: string;
  /** false: nobody answered in time; every admission is `pending`, and publishing again asks again */
  readonly answered: boolean;
  readonly admissions: Admission[];
}

/**
 * Publishes one page of a batch and returns the admission of each of its items. Publishing the same batch
 * again, whoever does it and however often, gives the same admissions and starts nothing twice.
 *
 * @throws BatchRefusedError the batch as a whole can't be dispatched (empty, too large, unknown lane, …)
 * @throws BatchIdTakenError the batchId belongs to a batch with other content
 * @throws NamespaceNotReadyError the namespace lacks our search attributes
 * @throws NotStoredError Temporal did not take it in time
 */
export async function publish(
  client: Client,
  input: Batch,
  options: PublishOptions = {},
): Promise<Published> {
  return await publishPage(client, input, options, null);
}

/**
 * The same for a page of a longer batch.
 *
 * @param whole what the batch holds in all, as `Whole` has it; null when that is not known, or this is all of it
 */
export async function publishPage(
  client: Client,
  input: Batch,
  options: PublishOptions,
  whole: string | null,
): Promise<Published> {
  const parsed = parseBatch({ ...input, items: input.items.map(carriable) });
  if (!parsed.ok) throw new BatchRefusedError(parsed.reason, parsed);
  const { batch } = parsed;
  const content = contentHash(batch);
  const asking: Asking = { batch, content, whole: whole ?? (batch.page === undefined ? content : null) };
  const workflowId = batchWorkflowId(batch.batchId, batch.page);
  const waitMs = options.waitMs ?? DEFAULT_WAIT_MS;
  const deadline = Date.now() + waitMs;
  const answer = async (): Promise<Admission[] | undefined> => {
    for (;;) {
      const asked = await ask(client, asking, waitMs === 0 ? 'do not wait' : deadline);
      if (asked !== 'closed meanwhile') return asked;
    }
  };
  const answered = await answer();
  return {
    batchId: batch.batchId,
    workflowId,
    answered: answered !== undefined,
    admissions: answered ?? batch.items.map(pending),
  };
}

function pending(item: unknown, position: number): Admission {
  return { position, key: givenKey(item).key ?? null, admission: 'pending' };
}

/** One update-with-start, or only the start; undefined when no answer came in time. */
async function ask(
  client: Client,
  asking: Asking,
  deadline: number | 'do not wait',
): Promise<Admission[] | undefined | 'closed meanwhile'> {
  const { batch, content } = asking;
  const options = startOptions(asking);
  try {
    const updateId = await updateIdFor(client, asking);
    if (deadline === 'do not wait') {
      await client.withDeadline(Date.now() + STORED_WITHIN_MS, () =>
        client.workflow.start<typeof dispatchBatch>('dispatchBatch', options),
      );
      return await unanswered(client, batch, content);
    }
    const start = new WithStartWorkflowOperation<typeof dispatchBatch>('dispatchBatch', options);
    // Its rejection is the update's, which is handled below.
    start.workflowHandle().catch(() => undefined);
    return await client.withDeadline(deadline, () =>
      client.workflow.executeUpdateWithStart(admissions, {
        args: [content],
        updateId,
        startWorkflowOperation: start,
      }),
    );
  } catch (error) {
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)
      return await unanswered(client, batch, content);
    if (error instanceof WorkflowUpdateFailedError) return refusalOrClosing(error);
    if (error instanceof WorkflowExecutionAlreadyStartedError || error instanceof WorkflowNotFoundError)
      return await fromResult(client, batch, content);
    const missing = missingAttributeIn(error);
    throw missing === undefined ? error : notReady(client.options.namespace, missing);
  }
}

/**
 * One ID per content, so that asking again costs nothing. But the server gives a known update's answer also from a
 * run that has closed, and starts none: after a refused or terminated run the ID must be another one.
 *
 * @throws BatchIdTakenError when the batch that is known holds something else on another page
 */
async function updateIdFor(client: Client, { batch, content, whole }: Asking): Promise<string> {
  const newest = await describeOrUndefined(client, batchWorkflowId(batch.batchId, batch.page));
  if (newest !== undefined && isOfAnotherWhole(newest, whole)) throw taken(batch);
  const answers = newest === undefined || ['RUNNING', 'PAUSED', 'COMPLETED'].includes(newest.status.name);
  return answers ? `admissions:${content}` : `admissions:${content}:after:${newest.runId}`;
}

/** A page that is the same may stand in batches that differ elsewhere. One that was refused has started nothing. */
export function isOfAnotherWhole({ memo, status }: WorkflowExecutionDescription, whole: string | null) {
  const known = memo?.['whole'];
  return status.name !== 'FAILED' && whole !== null && known !== undefined && known !== whole;
}

/** The server names one unregistered search attribute at a time; whoever lacks one lacks all. */
function missingAttributeIn(error: unknown): readonly SearchAttribute[] | undefined {
  if (!(error instanceof Error)) return undefined;
  return SEARCH_ATTRIBUTE_NAMES.some((name) => error.message.includes(`search attribute ${name}`))
    ? SEARCH_ATTRIBUTE_NAMES
    : undefined;
}

async function unanswered(client: Client, batch: Batch, content: string): Promise<undefined> {
  const workflowId = batchWorkflowId(batch.batchId, batch.page);
  const description = await describeOrUndefined(client, workflowId);
  if (description === undefined)
    throw new NotStoredError(`${workflowId}: Temporal did not take the batch in time; publish again`);
  const known = description.memo?.['content'];
  if (known !== undefined && known !== content) throw taken(batch);
  return undefined;
}

function refusalOrClosing(error: WorkflowUpdateFailedError): 'closed meanwhile' {
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) throw error;
  switch (cause.type) {
    case 'AcceptedUpdateCompletedWorkflow':
      return 'closed meanwhile';
    case 'BatchIdTaken':
      throw new BatchIdTakenError(cause.message);
    case 'BatchRefused':
      throw new BatchRefusedError(cause.message);
    default:
      throw error;
  }
}

/** The batch is closed and was completed: its result has the same answers. */
async function fromResult(
  client: Client,
  batch: Batch,
  content: string,
): Promise<Admission[] | 'closed meanwhile'> {
  const workflowId = batchWorkflowId(batch.batchId, batch.page);
  try {
    const result: BatchProgress = await client.workflow.getHandle<typeof dispatchBatch>(workflowId).result();
    if (result.content !== content) throw taken(batch);
    return result.admissions;
  } catch (error) {
    // It failed between our asking and our looking: it may be started again.
    if (error instanceof WorkflowFailedError) return 'closed meanwhile';
    throw error;
  }
}

export function taken(batch: Pick<Batch, 'batchId'>): BatchIdTakenError {
  return new BatchIdTakenError(`batchId: "${batch.batchId}" is taken by a batch with other content`);
}
