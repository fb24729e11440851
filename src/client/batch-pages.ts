import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { batchWorkflowId, parseBatchWorkflowId } from '../domain/ids.ts';
import { GRPC, grpcCodeOf } from '../grpc.ts';
import { NotFoundError } from './errors.ts';
import { describeOrUndefined } from './key-holder.ts';
import { quoted } from './lists.ts';
import { type ReadBatch, readBatch } from './read-batch.ts';

/** One page of a batch that has arrived. */
export interface ArrivedPage {
  readonly page: number;
  readonly description: WorkflowExecutionDescription;
}

/** ... and what was published in it. */
export interface BatchPage extends ArrivedPage, ReadBatch {}

/**
 * All pages of a batch that have arrived, in order.
 *
 * @param told how many pages there are, as far as the caller knows by now
 * @throws NotFoundError when there is none
 */
export async function* arrivedPages(
  client: Client,
  batchId: string,
  told: () => number = () => 0,
): AsyncGenerator<ArrivedPage, void> {
  const listed = Math.max(-1, ...(await listedPages(client, batchId)));
  let arrived = 0;
  // Lists lag, so each page is asked for by itself: beyond those that are listed or told of until one is missing.
  for (let page = 0; ; page++) {
    const description = await describeOrUndefined(client, batchWorkflowId(batchId, page));
    if (description !== undefined) {
      arrived++;
      yield { page, description };
    } else if (page > listed && page >= told()) break;
  }
  if (arrived === 0) throw new NotFoundError(`batch "${batchId}": no workflow ${batchWorkflowId(batchId)}`);
}

/**
 * The same with what was published in each, read off its history.
 *
 * @throws NotFoundError when there is none
 */
export async function* batchPages(client: Client, batchId: string): AsyncGenerator<BatchPage, void> {
  let told = 0;
  for await (const arrived of arrivedPages(client, batchId, () => told)) {
    const read = await readBatch(client, arrived.description);
    told = Math.max(told, read.batch.pages ?? 0);
    yield { ...arrived, ...read };
  }
}

async function listedPages(client: Client, batchId: string): Promise<number[]> {
  const query = `OnelaneBatch = ${quoted(batchId)} AND WorkflowType = 'dispatchBatch'`;
  const listed: number[] = [];
  try {
    for await (const { workflowId } of client.workflow.list({ query })) {
      const page = parseBatchWorkflowId(workflowId);
      if (page?.batchId === batchId) listed.push(page.page);
    }
    return listed;
  } catch (error) {
    // The time-skipping test server keeps no list of workflows.
    if (grpcCodeOf(error) === GRPC.unimplemented) return [];
    throw error;
  }
}
