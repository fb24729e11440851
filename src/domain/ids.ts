/**
 * Every name under which onelane's things are found in Temporal, each beside its inverse.
 *
 * `/` separates the parts, so batch IDs, lane names and partition names may not contain it; item keys may,
 * as long as they don't begin with one of the prefixes that are ours.
 */

const RESERVED_KEY_PREFIXES = ['batch/', 'lane/', 'schedule/'] as const;

/** The task queue of everything but calls to upstreams: dispatch and items. */
export const DISPATCH_TASK_QUEUE = 'onelane';

export function batchWorkflowId(batchId: string, page = 0): string {
  return page === 0 ? `batch/${batchId}` : `batch/${batchId}/${page}`;
}

export function parseBatchWorkflowId(workflowId: string): { batchId: string; page: number } | undefined {
  const match = /^batch\/([^/]+)(?:\/([1-9]\d*))?$/.exec(workflowId);
  if (match?.[1] === undefined) return undefined;
  return { batchId: match[1], page: match[2] === undefined ? 0 : Number(match[2]) };
}

/** The lane's durable queue. Its only consumer is the lane's holder. */
export function laneTaskQueue(lane: string): string {
  return `onelane:${lane}`;
}

export function parseLaneTaskQueue(taskQueue: string): string | undefined {
  return /^onelane:(.+)$/.exec(taskQueue)?.[1];
}

export function reservedPrefixOf(key: string): string | undefined {
  return RESERVED_KEY_PREFIXES.find((prefix) => key.startsWith(prefix));
}

/** Names of the search attributes, all of type Keyword. */
export const SEARCH_ATTRIBUTES = ['OnelaneLane', 'OnelaneBatch', 'OnelaneState'] as const;
