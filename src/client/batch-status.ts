import {
  type Client,
  QueryNotRegisteredError,
  ServiceError,
  type WorkflowExecutionDescription,
} from '@temporalio/client';
import pMap from 'p-map';
import { isStartedBy } from '../domain/admission.ts';
import { type BatchProgress, countBatch, pagesOf } from '../domain/batch.ts';
import { batchWorkflowId } from '../domain/ids.ts';
import { isParked } from '../domain/item.ts';
import type { dispatchBatch } from '../workflows/index.ts';
import { progress } from '../workflows/messages.ts';
import { batchFromItems } from './batch-from-items.ts';
import { NotFoundError } from './errors.ts';
import { describeOrUndefined, keyHolder } from './key-holder.ts';
import { type ReadBatch, readBatch } from './read-batch.ts';
import { whyFailed } from './workflow-failure.ts';

/** A worker answers a query within milliseconds; after this long none is there, or it is far behind. */
const QUERY_WITHIN_MS = 5_000;
/** Enough to hide the round trips, few enough for a small server. */
const LOOKUPS_AT_ONCE = 20;

export interface BatchStatus extends BatchProgress {
  readonly publisher: string | null;
  readonly page: number;
  /** how many pages the batch has, as far as this one says */
  readonly pages: number | null;
  /** Temporal's status of the batch's own workflow, e.g. RUNNING; its items may go on without it */
  readonly workflow: string;
  /** why its workflow failed: it was refused as a whole, and is `pending` until it is published again; else null */
  readonly failure: string | null;
  /**
   * `workflow`: told by the batch's own workflow. `history`: no worker answered, or the workflow was ended
   * from outside, so the answer is put together from its history and from its items.
   */
  readonly from: 'workflow' | 'history';
}

/** @throws NotFoundError */
export async function batchStatus(client: Client, batchId: string, page = 0): Promise<BatchStatus> {
  const workflowId = batchWorkflowId(batchId, page);
  const description = await describeOrUndefined(client, workflowId);
  if (description === undefined) throw new NotFoundError(`batch "${batchId}": no workflow ${workflowId}`);
  return await statusOf(client, description, await readBatch(client, description));
}

/** The same of a batch whose input is read already. */
export async function statusOf(
  client: Client,
  description: WorkflowExecutionDescription,
  read: ReadBatch,
): Promise<BatchStatus> {
  const told = await toldByWorkflow(client, description);
  const { publisher = null, page = 0 } = read.batch;
  const { workflowId, runId, status } = description;
  const failure = status.name === 'FAILED' ? await whyFailed(client, workflowId, runId) : null;
  const about = { publisher, page, pages: pagesOf(read.batch), workflow: status.name, failure };
  if (told !== undefined) return { ...told, ...about, from: 'workflow' };
  return { ...(await batchFromItems(client, read)), ...about, from: 'history' };
}

async function toldByWorkflow(
  client: Client,
  { workflowId, runId, status }: WorkflowExecutionDescription,
): Promise<BatchProgress | undefined> {
  const handle = client.workflow.getHandle<typeof dispatchBatch>(workflowId, runId);
  if (status.name === 'COMPLETED') return await sinceItClosed(client, workflowId, await handle.result());
  if (status.name !== 'RUNNING') return undefined;
  try {
    return await client.withDeadline(Date.now() + QUERY_WITHIN_MS, () => handle.query(progress));
  } catch (error) {
    // No worker polls, none answered in time, or the workflow has not had its first task yet.
    if (error instanceof ServiceError || error instanceof QueryNotRegisteredError) return undefined;
    throw error;
  }
}

/** Those that were parked when their batch ended may have been redriven since. */
async function sinceItClosed(
  client: Client,
  workflowId: string,
  closed: BatchProgress,
): Promise<BatchProgress> {
  const states = { ...closed.states };
  const parked = closed.admissions.flatMap(({ admission, key, position }) =>
    admission === 'accepted' && key !== null && isParkedIn(states, key) ? [{ key, position }] : [],
  );
  const ask = async ({ key, position }: { key: string; position: number }): Promise<void> => {
    const holder = await keyHolder(client, key);
    if (holder.kind === 'item' && isStartedBy(holder, workflowId, position)) states[key] = holder.state;
  };
  await pMap(parked, ask, { concurrency: LOOKUPS_AT_ONCE });
  return { ...closed, states, counts: countBatch(closed.admissions, states) };
}

function isParkedIn(states: BatchProgress['states'], key: string): boolean {
  const state = states[key];
  return state !== undefined && isParked(state);
}
