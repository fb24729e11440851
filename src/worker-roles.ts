/** What a worker process does: dispatch batches and carry items, or consume lanes, or both. */
export const WORKER_ROLES = ['dispatch', 'lanes'] as const;
export type WorkerRole = (typeof WORKER_ROLES)[number];
