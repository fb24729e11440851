import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Admission, BatchAnswer, BatchProgress } from '../domain/batch.ts';
import type { Finding, ItemSnapshot, MovedNotice } from '../domain/delivery.ts';
import type { Evidence } from '../domain/evidence.ts';
import type { ItemAnswer } from '../domain/orders.ts';
import type { Named } from './named.ts';

/**
 * The answer to every position of a batch, once it is there. The argument is the content hash of what the
 * caller published, so that nobody gets the answers to something else; without it they are given as they are.
 */
export const admissions = defineUpdate<Admission[], [content: string | undefined]>('admissions');
export const progress = defineQuery<BatchProgress>('progress');
/** An item of the batch parked, or left the park. */
export const moved = defineSignal<[MovedNotice]>('moved');
export const item = defineQuery<ItemSnapshot>('item');

export interface RedriveAsked extends Named {
  /** send it again though the upstream may have done it, and can't be asked */
  readonly acceptRisk?: boolean;
}

export interface ResolveAsked extends Named {
  readonly receipt: { readonly upstreamId: string | null };
}

/** What a reconciliation found out about a parked item; of another round than it is in, it is passed over. */
export interface SettleAsked extends Named {
  readonly finding: Finding;
  readonly round: number;
}

// What is done to an item. Each is refused with an ApplicationFailure of type `ItemRefused`.

/** Tries a parked item again under its key, with a fresh budget. */
export const redrive = defineUpdate<ItemAnswer, [RedriveAsked]>('redrive');
/** Gives up an item that is not being sent. */
export const discard = defineUpdate<ItemAnswer, [Named]>('discard');
/** Closes a parked item as found done. */
export const resolve = defineUpdate<ItemAnswer, [ResolveAsked]>('resolve');
/** Its batch is paused: takes back what is not in the slot. */
export const hold = defineUpdate<ItemAnswer, [Named]>('hold');
/** Its batch goes on. */
export const release = defineUpdate<ItemAnswer, [Named]>('release');
export const settle = defineUpdate<ItemAnswer, [SettleAsked]>('settle');
/** An answer came to a call of a process that had lost the lane. Evidence, not state. */
export const lateAnswer = defineSignal<[Evidence]>('lateAnswer');

// What is done to a batch as a whole. Items that are there already are told one by one, by whoever asks for it. Each is
// refused with an ApplicationFailure of type `BatchRefused`.

/** Pauses a batch: what it starts from now on begins held. */
export const holdBatch = defineUpdate<BatchAnswer, [Named]>('hold');
export const releaseBatch = defineUpdate<BatchAnswer, [Named]>('release');
/** Starts nothing any more: positions that are not started yet are rejected. */
export const discardRest = defineUpdate<BatchAnswer, [Named]>('discardRest');
