import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MAX_PAGE_ITEMS } from '../../src/domain/batch.ts';
import { LANE } from '../fleet/lanes-file.ts';
import { MAIN } from '../fleet/program.ts';
import { until } from '../fleet/until.ts';
import { usageOf } from '../fleet/usage.ts';
import { itemsOf } from './pages.ts';
import type { Stand } from './stand.ts';

const LOOK_AT_MEMORY_EVERY_MS = 250;
const BATCH = 'file';
const LISTED_WITHIN_MS = 60_000;

/** One `onelane publish FILE` as it went. */
export interface FilePublish {
  /** when each item was started, by the server's clock, in epoch ms, ascending: from then on it was accepted */
  readonly acceptedAtMs: readonly number[];
  readonly rssMb: readonly number[];
}

/** Publishes a file by the command as it is installed, and watches its memory. */
export async function publishFile(stand: Stand, items: number): Promise<FilePublish> {
  const file = join(stand.folder, 'items.ndjson');
  await pipeline(Readable.from(linesOf(items)), createWriteStream(file));
  const args = [MAIN, 'publish', file, '--lane', LANE, '--batch', BATCH, '--wait', '10m', '--json'];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, TEMPORAL_ADDRESS: stand.address },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  const rssMb: number[] = [];
  const look = setInterval(() => {
    // It may have ended between two looks.
    if (child.pid !== undefined)
      usageOf(child.pid).then(
        (usage) => Number.isNaN(usage.rssMb) || rssMb.push(usage.rssMb),
        () => undefined,
      );
  }, LOOK_AT_MEMORY_EVERY_MS);
  try {
    const closed = once(child, 'close');
    const answers = await answersOf(child.stdout);
    const [code]: unknown[] = await closed;
    if (code !== 0) throw new Error(`onelane publish ended with ${String(code)}`);
    if (answers !== items) throw new Error(`expected ${items} answers of onelane publish, got ${answers}`);
    return { acceptedAtMs: await startsOf(stand, items), rssMb };
  } finally {
    clearInterval(look);
    process.removeListener('exit', end);
    end();
  }
}

function* linesOf(items: number): Generator<string> {
  for (let page = 0; page * MAX_PAGE_ITEMS < items; page++) {
    const count = Math.min(MAX_PAGE_ITEMS, items - page * MAX_PAGE_ITEMS);
    for (const item of itemsOf(BATCH, page, count)) yield `${JSON.stringify(item)}\n`;
  }
}

/** How an answer begins in what the command prints. */
const ANSWER = '{"position":';

async function answersOf(stdout: Readable): Promise<number> {
  let answers = 0;
  let rest = '';
  for await (const chunk of stdout.setEncoding('utf8')) {
    const parts = (rest + String(chunk)).split(ANSWER);
    answers += parts.length - 1;
    // An answer's beginning may be cut in two.
    rest = (parts.at(-1) ?? '').slice(-ANSWER.length);
  }
  return answers;
}

/** Answers come by whole pages, several at once; what the server wrote down tells of each item. */
async function startsOf({ client }: Stand, items: number): Promise<number[]> {
  const query = `OnelaneBatch = '${BATCH}' AND WorkflowType = 'deliverItem'`;
  // Lists may lag.
  await until(`${items} items are listed`, LISTED_WITHIN_MS, async () => {
    return (await client.workflow.count(query)).count === items;
  });
  const starts: number[] = [];
  for await (const { startTime } of client.workflow.list({ query })) starts.push(startTime.getTime());
  return starts.toSorted((a, b) => a - b);
}
