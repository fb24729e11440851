/** For TypeScript callers: publish a batch, and see what became of it. */
export { type BatchOutcome, batchOutcome } from './client/batch-outcome.ts';
export { type BatchReport, batchReport } from './client/batch-report.ts';
export { type BatchStatus, batchStatus } from './client/batch-status.ts';
export {
  BatchIdTakenError,
  BatchRefusedError,
  ItemRefusedError,
  LaneRefusedError,
  MarkRefusedError,
  NotFoundError,
  NotStoredError,
  ScheduleRefusedError,
  UnansweredError,
} from './client/errors.ts';
export { type ExportLine, type ExportOptions, exportRecords } from './client/export.ts';
export { type ReconcileOptions, reconcileItems } from './client/reconcile.ts';
export type { Reconciled } from './domain/reconcile.ts';
export type { OperationRecord } from './client/operation-record.ts';
export { type LaneStatus, laneStatus, laneStatuses } from './client/lane-status.ts';
export { type DeadLetter, type DeadLetterFilter, deadLetters } from './client/dead-letters.ts';
export { type Operated, operateItems } from './client/operate-items.ts';
export { operateBatch } from './client/operate-batch.ts';
export { operateItem } from './client/operate-item.ts';
export { operateLane } from './client/operate-lane.ts';
export type { ItemAnswer, Order } from './domain/orders.ts';
export { type ItemRecord, itemRecord } from './client/item-record.ts';
export {
  OVERLAPS,
  type Overlap,
  type ScheduleDefinition,
  type ScheduleStatus,
  createSchedule,
  deleteSchedule,
  listSchedules,
  pauseSchedule,
  resumeSchedule,
  scheduleStatus,
} from './client/schedules.ts';
export {
  type BackfilledWindow,
  type MissedWindow,
  type MissedWindows,
  backfill,
  missedWindows,
} from './client/windows.ts';
export { type Whole, survey } from './client/pages.ts';
export { type LongBatch, type PublishedPage, publishPages } from './client/publish-pages.ts';
export { type PublishOptions, type Published, publish } from './client/publish.ts';
export type { BatchAct, ItemOutcome } from './client/tell-items.ts';
export { NamespaceNotReadyError } from './namespace.ts';
export type { Admission, Batch, BatchCounts, BatchProgress } from './domain/batch.ts';
export type { ItemState, PublishedItem } from './domain/item.ts';
