import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { BatchStatus } from '../../client.ts';
import { DemoError } from './ending.ts';

const callSchema = z.object({
  sequence: z.number(),
  /** milliseconds since 1970 */
  wallMs: z.number(),
  key: z.string().nullable(),
  fault: z.string().nullable(),
  overQuota: z.boolean(),
  status: z.number().nullable(),
  endedMs: z.number().nullable(),
});
/** A call as the upstream's log has it, as far as the live view tells of it. */
export type SeenCall = z.output<typeof callSchema>;

/** How long the upstream may take to tell its log; the next look is a second later anyway. */
const ANSWER_WITHIN_MS = 1_000;

/** Every call that reached the upstream so far; undefined while it does not listen, as one of its faults wants. */
export async function readCalls(upstreamUrl: string): Promise<SeenCall[] | undefined> {
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(`${upstreamUrl}/arrivals`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    body = await response.json();
  } catch {
    return undefined;
  }
  if (!response.ok) throw new DemoError(`the upstream's log: expected status 200, got ${response.status}`);
  return z.array(callSchema).parse(body);
}

const lineSchema = z.object({ event: z.string(), at: z.iso.datetime(), text: z.string() });
/** A line of `onelane worker --json`. */
export type WorkerLine = z.output<typeof lineSchema>;

/** What the worker has said so far. Its log also has lines of the SDK, which are not ours to tell. */
export async function readWorkerLines(logFile: string): Promise<WorkerLine[]> {
  const text = await readLog(logFile);
  // The last piece is a line that is still being written, or nothing.
  return text.split('\n').slice(0, -1).flatMap(workerLine);
}

async function readLog(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    // It is made with its first line.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

function workerLine(line: string): WorkerLine[] {
  if (!line.startsWith('{')) return [];
  try {
    const parsed = lineSchema.safeParse(JSON.parse(line));
    return parsed.success ? [parsed.data] : [];
  } catch {
    return [];
  }
}

/** All that is known at a moment. */
export interface Observation {
  /** milliseconds since 1970 */
  readonly nowMs: number;
  /** when the batch was published, milliseconds since 1970 */
  readonly startedMs: number;
  readonly status: BatchStatus;
  /** as last read */
  readonly calls: readonly SeenCall[];
  readonly upstreamListens: boolean;
  readonly workerLines: readonly WorkerLine[];
}
