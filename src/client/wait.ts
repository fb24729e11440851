import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { formatDuration } from '../domain/duration.ts';
import { hasEnded, isParked } from '../domain/item.ts';
import { arrivedPages } from './batch-pages.ts';
import { type BatchReport, batchReport } from './batch-report.ts';
import { BatchRefusedError, UnansweredError } from './errors.ts';
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
 * Waits until every item of a batch is answered, on all of its pages, and every accepted one has ended or parked.
 *
 * @throws NotFoundError
 * @throws BatchRefusedError when it was refused as a whole, which nothing but publishing it again changes
 * @throws UnansweredError when that is not so in time
 */
export async function waitForBatch(
  client: Client,
  batchId: string,
  options: WaitOptions = {},
): Promise<BatchReport> {
  return await look(`batch "${batchId}"`, () => seeBatch(client, batchId), options);
}

/** A batch is accounted for only once none of its pages runs any more: that reads all that was published. */
async function seeBatch(client: Client, batchId: string): Promise<Seen<BatchReport>> {
  let running = 0;
  for await (const { description } of arrivedPages(client, batchId))
    if (description.status.name === 'RUNNING') running += 1;
  if (running > 0) return { open: `${running} of its pages have open items` };
  const report = await batchReport(client, batchId);
  const { pending, absent, open } = report.counts;
  if (report.failure !== null) throw new BatchRefusedError(report.failure);
  const absentPages = report.extent.absentPages.length;
  if (pending + absent + open + absentPages === 0) return { settled: report };
  return { open: `${open} items open, ${pending} unanswered, ${absentPages} pages not there` };
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
  return await look(`item "${key}"`, () => seeItem(client, key), options);
}

async function seeItem(client: Client, key: string): Promise<Seen<ItemRecord>> {
  const record = await itemRecord(client, key);
  const settled = isParked(record.state) || hasEnded(record.state);
  return settled ? { settled: record } : { open: `it is ${record.state}` };
}

/** What is waited for, or what is still open. */
type Seen<What> = { readonly settled: What } | { readonly open: string };

async function look<What>(
  what: string,
  see: () => Promise<Seen<What>>,
  { withinMs, signal }: WaitOptions,
): Promise<What> {
  const giveUpAt = performance.now() + (withinMs ?? Infinity);
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(2 * waitMs, RAREST_LOOK_MS)) {
    signal?.throwIfAborted();
    const seen = await see();
    if ('settled' in seen) return seen.settled;
    const leftMs = giveUpAt - performance.now();
    if (leftMs <= 0)
      throw new UnansweredError(`${what}: not settled within ${formatDuration(withinMs ?? 0)}: ${seen.open}`);
    await sleep(Math.min(waitMs, leftMs), undefined, signal === undefined ? {} : { signal });
  }
}
