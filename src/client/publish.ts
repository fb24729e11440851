import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { type Admission, type Batch, type BatchProgress, contentHash, parseBatch } from '../domain/batch.ts';
import {
  DISPATCH_TASK_QUEUE,
  SEARCH_ATTRIBUTE_NAMES,
  type SearchAttribute,
  batchWorkflowId,
} from '../domain/ids.ts';
import { jsonFault } from '../domain/json.ts';
import { notReady } from '../namespace.ts';
import type { dispatchBatch } from '../workflows/index.ts';
import { admissions } from '../workflows/messages.ts';
import { ONELANE_BATCH, ONELANE_LANE } from '../workflows/visibility.ts';
import { BatchIdTakenError, BatchRefusedError, NotStoredError } from './errors.ts';
import { describeOrUndefined } from './key-holder.ts';

/** Longer than a page of 500 takes to start on a slow server; whoever wants an answer sooner says so. */
const DEFAULT_WAIT_MS = 60_000;

export interface PublishOptions {
  /** how long to wait for admissions before they are reported as `pending`, in milliseconds */
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
  const parsed = parseBatch({ ...input, items: input.items.map(carriable) });
  if (!parsed.ok) throw new BatchRefusedError(parsed.reason);
  const { batch } = parsed;
  const content = contentHash(batch);
  const workflowId = batchWorkflowId(batch.batchId, batch.page);
  const deadline = Date.now() + (options.waitMs ?? DEFAULT_WAIT_MS);
  const answer = async (): Promise<Admission[] | undefined> => {
    for (;;) {
      const asked = await ask(client, batch, content, deadline);
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

/** An item that JSON would silently change on its way is replaced by what is wrong with it, and answered so. */
function carriable(item: unknown): unknown {
  const fault = jsonFault(item, 'item');
  return fault === undefined ? item : { unreadable: fault.replace(/^item\.(?=.)/, ''), ...keyOf(item) };
}

function pending(item: unknown, position: number): Admission {
  return { position, key: keyOf(item).key ?? null, admission: 'pending' };
}

function keyOf(item: unknown): { key?: string } {
  if (typeof item !== 'object' || item === null || !('key' in item) || typeof item.key !== 'string')
    return {};
  return jsonFault(item.key, 'key') === undefined ? { key: item.key.slice(0, 255) } : {};
}

/** One update-with-start; undefined when no answer came in time. */
async function ask(
  client: Client,
  batch: Batch,
  content: string,
  deadline: number,
): Promise<Admission[] | undefined | 'closed meanwhile'> {
  const workflowId = batchWorkflowId(batch.batchId, batch.page);
  const start = new WithStartWorkflowOperation<typeof dispatchBatch>('dispatchBatch', {
    workflowId,
    taskQueue: DISPATCH_TASK_QUEUE,
    args: [batch],
    memo: { content },
    typedSearchAttributes: [
      { key: ONELANE_LANE, value: batch.lane },
      { key: ONELANE_BATCH, value: batch.batchId },
    ],
    staticSummary: `batch ${batch.batchId}: ${batch.items.length} items for lane ${batch.lane}`,
    workflowIdConflictPolicy: 'USE_EXISTING',
    // A batch that was terminated or refused can be published again, and finishes what is left; a completed one answers.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
  });
  // Its rejection is the update's, which is handled below.
  start.workflowHandle().catch(() => undefined);
  try {
    const updateId = await updateIdFor(client, workflowId, content);
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
 */
async function updateIdFor(client: Client, workflowId: string, content: string): Promise<string> {
  const newest = await describeOrUndefined(client, workflowId);
  const answers = newest === undefined || ['RUNNING', 'PAUSED', 'COMPLETED'].includes(newest.status.name);
  return answers ? `admissions:${content}` : `admissions:${content}:after:${newest.runId}`;
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

function taken(batch: Batch): BatchIdTakenError {
  return new BatchIdTakenError(`batchId: "${batch.batchId}" is taken by a batch with other content`);
}
