/** `onelane`: publish batches, ask what became of them, and operate lanes. See docs/library.md. */
export { connect, type ConnectOptions, type Onelane, onelaneOf } from './connect.ts';
export type { BatchInput, ItemInput, LongBatchInput } from './batch-input.ts';
export type { Operate } from './operate.ts';
export type { Schedules } from './schedules.ts';
export type { WaitOptions } from '../client/wait.ts';
export * from '../client.ts';
export { TemporalConfigError, TemporalUnreachableError } from '../connection.ts';
export type { LaneRecord } from '../domain/lane-record.ts';
