import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { LaneRecord } from '../domain/lane-record.ts';
import type { Named } from './named.ts';

/** null leaves it as the configuration has it. */
export interface OverrideAsked extends Named {
  readonly requests: number | null;
  readonly maxInFlight: number | null;
}

/** The ceilings of an override. More calls per window than this would no longer fit a heartbeat's account of them. */
export const MOST_REQUESTS = 10_000;
/** More calls at once are no lane any more. */
export const MOST_IN_FLIGHT = 100;

/** By an item that is about to wait in the lane, or by a process that stands by for it. */
export interface Opened {
  readonly process?: string;
  readonly fingerprint?: string;
}

/** What a holder learned from its upstream, as durations from now. It may arrive after its hold has ended. */
export interface Closed {
  /** of the hold */
  readonly epoch: number;
  readonly forMs: number;
  readonly because: string;
  readonly probing: boolean;
  readonly backoffMs: number;
}

/** A holder's lane paused itself. It may arrive more than once, and after its hold has ended. */
export interface PausedItself {
  readonly epoch: number;
  readonly reason: string;
  /** how often the lane had been resumed before: one that was resumed since is not paused again */
  readonly resumed: number;
}

export const lane = defineQuery<LaneRecord>('lane');
export const opened = defineSignal<[Opened]>('opened');
export const closed = defineSignal<[Closed]>('closed');
export const pausedItself = defineSignal<[PausedItself]>('pausedItself');
export const pause = defineUpdate<LaneRecord, [Named]>('pause');
export const resume = defineUpdate<LaneRecord, [Named]>('resume');
export const override = defineUpdate<LaneRecord, [OverrideAsked]>('override');
export const clearOverride = defineUpdate<LaneRecord, [Named]>('clearOverride');
/** Nothing is admitted to the lane any more; what is there goes on. Not undone: another lane takes over. */
export const drain = defineUpdate<LaneRecord, [Named]>('drain');
