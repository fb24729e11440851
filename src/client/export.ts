import type { Client } from '@temporalio/client';
import { pMapIterable, pMapSkip } from 'p-map';
import { ExportPassage, type Rest, lookFromMs } from '../domain/export-mark.ts';
import { formatDuration } from '../domain/duration.ts';
import { checkLane } from './check-lane.ts';
import { isUnreadable } from './item-record.ts';
import { readMark, writeMark } from './export-mark.ts';
import { listRests, listUnrested } from './lists.ts';
import { type OperationRecord, recordAtRest, recordUnderWay } from './operation-record.ts';

/** Enough to hide the round trips, few enough for a small server. */
const RECORDS_AT_ONCE = 20;
/** Beyond every time that Temporal has. */
const FOREVER_MS = Date.UTC(2200, 0);

export interface ExportOptions {
  /** the mark of the export before; without it, all that Temporal still keeps is told */
  readonly since?: string | null;
  /** of this lane and its partitions only */
  readonly lane?: string | null;
  /** tells of items that are neither ended nor parked, too. They move no mark, and are told of again */
  readonly open?: boolean;
  /** hears what an operator should know */
  readonly warn?: (sentence: string) => void;
}

/** Records, and at last the mark to go on from. An export that did not come so far has none. */
export type ExportLine = OperationRecord | { readonly mark: string };

/**
 * Tells of every item that came to rest since a mark: ended, or parked. However often it is run, each from the mark
 * of the one before, and however items move meanwhile, each is told of once, and once more for each time that an
 * operator had it moved again. Only the server's own times are compared.
 *
 * @throws MarkRefusedError, NotFoundError
 */
export async function* exportRecords(
  client: Client,
  { since = null, lane = null, open = false, warn = () => undefined }: ExportOptions = {},
): AsyncGenerator<ExportLine> {
  const { namespaceId, retentionMs } = await namespaceOf(client);
  const mark = readMark(since, { namespaceId, lane });
  if (lane !== null) await checkLane(client, lane);
  const fromMs = lookFromMs(mark);
  // First how far, then what: only what was in the lists before they are read can bound what is missed in them.
  const newestMs = await newestOf(listRests(client, lane, { fromMs, untilMs: FOREVER_MS }));
  if (mark.atMs !== null && newestMs !== null && newestMs - retentionMs > mark.atMs)
    warn(
      `the mark is older than the namespace keeps what ended (${formatDuration(retentionMs)}): ` +
        `what ended soon after ${new Date(mark.atMs).toISOString()} may be missing`,
    );

  const passage = new ExportPassage(mark, newestMs);
  if (newestMs !== null) {
    const rests = takenBy(passage, listRests(client, lane, { fromMs, untilMs: newestMs }));
    yield* pMapIterable(rests, (rest) => readable(recordAtRest(client, rest), warn), {
      concurrency: RECORDS_AT_ONCE,
    });
  }
  if (open)
    yield* pMapIterable(listUnrested(client, lane), (key) => readable(recordUnderWay(client, key), warn), {
      concurrency: RECORDS_AT_ONCE,
    });
  yield { mark: writeMark(passage.mark(), { namespaceId, lane }) };
}

/** One that nobody can read, since somebody started it by hand with something else, must not keep the others. */
async function readable(
  reading: Promise<OperationRecord | undefined>,
  warn: (sentence: string) => void,
): Promise<OperationRecord | typeof pMapSkip> {
  try {
    return (await reading) ?? pMapSkip;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    warn(`left out: ${error.message}`);
    return pMapSkip;
  }
}

async function newestOf(rests: AsyncIterable<Rest>): Promise<number | null> {
  let newestMs: number | null = null;
  for await (const { atMs } of rests) newestMs = Math.max(newestMs ?? 0, atMs);
  return newestMs;
}

async function* takenBy(passage: ExportPassage, rests: AsyncIterable<Rest>): AsyncGenerator<Rest> {
  for await (const rest of rests) if (passage.takes(rest)) yield rest;
}

async function namespaceOf(client: Client): Promise<{ namespaceId: string; retentionMs: number }> {
  const { namespace } = client.options;
  const { namespaceInfo, config } = await client.workflowService.describeNamespace({ namespace });
  return {
    namespaceId: namespaceInfo?.id ?? '',
    retentionMs: Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1000,
  };
}
