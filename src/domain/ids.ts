/**
 * Every name under which onelane's things are found in Temporal, each beside its inverse.
 *
 * `/` separates the parts, so batch IDs, lane names and partition names may not contain it; item keys may,
 * as long as they don't begin with one of the prefixes that are ours.
 */

export const RESERVED_KEY_PREFIXES = ['batch/', 'lane/', 'reconcile/', 'schedule/'] as const;

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

/**
 * The full name of a lane: `releases`, or `releases/acme` for the lane that a partition has of its own. Task
 * queue, workflow ID and search attribute are made of it.
 */
export function laneName(lane: string, partition: string | null): string {
  return partition === null ? lane : `${lane}/${partition}`;
}

export function parseLaneName(name: string): { lane: string; partition: string | null } {
  const slash = name.indexOf('/');
  if (slash < 0) return { lane: name, partition: null };
  return { lane: name.slice(0, slash), partition: name.slice(slash + 1) };
}

export function laneWorkflowId(name: string): string {
  return `lane/${name}`;
}

export function parseLaneWorkflowId(workflowId: string): string | undefined {
  return /^lane\/(.+)$/.exec(workflowId)?.[1];
}

/** Of one page of a reconciliation. `id` is made of what is asked, so that asking the same meanwhile is the same. */
export function reconcileWorkflowId(name: string, id: string): string {
  return `reconcile/${name}/${id}`;
}

/** The lane's durable queue. Its only consumer is the lane's holder. */
export function laneTaskQueue(name: string): string {
  return `onelane:${name}`;
}

export function parseLaneTaskQueue(taskQueue: string): string | undefined {
  return /^onelane:(.+)$/.exec(taskQueue)?.[1];
}

/** Of the lane workflows. A queue of their own, since a takeover waits for their workflow tasks. */
export const LANES_TASK_QUEUE = 'onelane-lanes';

/** Polled by every process that stands by for a lane or its partitions: who answers here is alive. */
export function standbyTaskQueue(lane: string): string {
  return `onelane-standby:${lane}`;
}

/** Polled by one process only: where it is given a lane to hold, and told of changes. */
export function processTaskQueue(process: string): string {
  return `onelane-process:${process}`;
}

/** Of a schedule, and of the workflow that each of its firings starts: Temporal puts the time behind it. */
export function scheduleId(schedule: string): string {
  return `schedule/${schedule}`;
}

export function parseScheduleId(id: string): string | undefined {
  return /^schedule\/(.+)$/.exec(id)?.[1];
}

/** The workflow ID of one firing, as Temporal itself makes it. `firedAt` is to the second, in UTC. */
export function firingWorkflowId(schedule: string, firedAt: string): string {
  return `${scheduleId(schedule)}-${firedAt}`;
}

export function parseFiringWorkflowId(workflowId: string): { schedule: string; firedAt: string } | undefined {
  const match = /^schedule\/(.+)-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/.exec(workflowId);
  return match?.[1] === undefined || match[2] === undefined
    ? undefined
    : { schedule: match[1], firedAt: match[2] };
}

/** The batch that a window is published as. */
export function windowBatchId(schedule: string, windowStart: string): string {
  return `${schedule}:${windowStart}`;
}

export function reservedPrefixOf(key: string): string | undefined {
  return RESERVED_KEY_PREFIXES.find((prefix) => key.startsWith(prefix));
}

/** Names of the search attributes, each with its type as the Temporal CLI writes it. */
export const SEARCH_ATTRIBUTES = {
  OnelaneLane: 'Keyword',
  OnelaneBatch: 'Keyword',
  OnelaneState: 'Keyword',
  OnelaneParkedAt: 'Datetime',
} as const;
export type SearchAttribute = keyof typeof SEARCH_ATTRIBUTES;

export const SEARCH_ATTRIBUTE_NAMES = Object.keys(SEARCH_ATTRIBUTES).filter((name): name is SearchAttribute =>
  Object.hasOwn(SEARCH_ATTRIBUTES, name),
);
