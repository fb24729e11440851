import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { formatDuration } from '../domain/duration.ts';
import { hasEnded, isParked } from '../domain/item.ts';
import { type BatchStatus, batchStatus } from './batch-status.ts';
import { UnansweredError } from './errors.ts';
import { type ItemRecord, itemRecord } from './item-record.ts';

/** Looking costs the server some reads, so that the longer it lasts the rarer it is looked. */
const FIRST_LOOK_MS = 100;
const RAREST_LOOK_MS = 5_000;

export interface WaitOptions {
  /** how long to wait, in milliseconds; as long as it takes when left out */
  readonly withinMs?: number;
  /** ends the waiting, with the signal's reason */
  readonly signal?: AbortSignal;
}

/**
 * Waits until every item of a batch is answered, and every accepted one has ended or parked.
 *
 * @throws NotFoundError
 * @throws UnansweredError when that is not so in time
 */
export async function waitForBatch(
  client: Client,
  batchId: string,
  options: WaitOptions = {},
): Promise<BatchStatus> {
  return await look(`batch "${batchId}"`, () => batchStatus(client, batchId), batchOpen, options);
}

/**
 * Waits until an item has ended or parked.
 *
 * @throws NotFoundError
 * @throws UnansweredError when that is not so in time
 */
export async function waitForItem(
  client: Client,
  key: string,
  options: WaitOptions = {},
): Promise<ItemRecord> {
  return await look(`item "${key}"`, () => itemRecord(client, key), itemOpen, options);
}

function batchOpen({ counts }: BatchStatus): string | null {
  if (counts.pending + counts.open === 0) return null;
  return `${counts.pending} items unanswered, ${counts.open} open`;
}

function itemOpen({ state }: ItemRecord): string | null {
  return isParked(state) || hasEnded(state) ? null : `it is ${state}`;
}

/** @param open says what is still open, or null */
async function look<Seen>(
  what: string,
  see: () => Promise<Seen>,
  open: (seen: Seen) => string | null,
  { withinMs, signal }: WaitOptions,
): Promise<Seen> {
  const giveUpAt = performance.now() + (withinMs ?? Infinity);
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(2 * waitMs, RAREST_LOOK_MS)) {
    signal?.throwIfAborted();
    const seen = await see();
    const stillOpen = open(seen);
    if (stillOpen === null) return seen;
    const leftMs = giveUpAt - performance.now();
    if (leftMs <= 0)
      throw new UnansweredError(`${what}: not settled within ${formatDuration(withinMs ?? 0)}: ${stillOpen}`);
    await sleep(Math.min(waitMs, leftMs), undefined, signal === undefined ? {} : { signal });
  }
}
