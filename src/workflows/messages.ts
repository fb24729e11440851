import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Admission, BatchProgress } from '../domain/batch.ts';
import type { ItemSnapshot, ParkedNotice } from '../domain/delivery.ts';

/**
 * The answer to every position of a batch, once it is there. The argument is the content hash of what the
 * caller published, so that nobody gets the answers to something else; without it they are given as they are.
 */
export const admissions = defineUpdate<Admission[], [content: string | undefined]>('admissions');
export const progress = defineQuery<BatchProgress>('progress');
export const parked = defineSignal<[ParkedNotice]>('parked');
export const item = defineQuery<ItemSnapshot>('item');
