import type { WorkflowStartOptions } from '@temporalio/client';
import type { Batch } from '../domain/batch.ts';
import { DISPATCH_TASK_QUEUE, batchWorkflowId } from '../domain/ids.ts';
import type { dispatchBatch } from '../workflows/index.ts';
import { ONELANE_BATCH, ONELANE_LANE } from '../workflows/visibility.ts';

/**
 * Of Temporal's five; items have the one in the middle unless they say otherwise. What publishes goes before the first
 * tasks of items, of which another batch may have left thousands. See docs/decisions/0013.
 */
export const FIRST_PRIORITY = { priorityKey: 1 } as const;

export interface Asking {
  readonly batch: Batch;
  readonly content: string;
  /** what the batch holds in all; null while nobody knows */
  readonly whole: string | null;
}

/** What a page's workflow is started with. */
export function startOptions({
  batch,
  content,
  whole,
}: Asking): WorkflowStartOptions<typeof dispatchBatch> & { workflowIdConflictPolicy: 'USE_EXISTING' } {
  return {
    workflowId: batchWorkflowId(batch.batchId, batch.page),
    taskQueue: DISPATCH_TASK_QUEUE,
    args: [batch],
    memo: whole === null ? { content } : { content, whole },
    typedSearchAttributes: [
      { key: ONELANE_LANE, value: batch.lane },
      { key: ONELANE_BATCH, value: batch.batchId },
    ],
    staticSummary: `batch ${batch.batchId}${pageOf(batch)}: ${batch.items.length} items for lane ${batch.lane}`,
    priority: FIRST_PRIORITY,
    workflowIdConflictPolicy: 'USE_EXISTING',
    // A batch that was terminated or refused can be published again, and finishes what is left; a completed one answers.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
  };
}

/** For people, who count from 1. */
function pageOf({ page, pages }: Batch): string {
  if (page === undefined || pages === 1) return '';
  return `, page ${page + 1}${pages === undefined ? '' : ` of ${pages}`}`;
}
