import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MAX_PAGE_ITEMS } from '../../src/domain/batch.ts';
import { LANE } from '../fleet/lanes-file.ts';
import { MAIN } from '../fleet/program.ts';
import { usageOf } from '../fleet/usage.ts';
import { itemsOf } from './pages.ts';
import type { Stand } from './stand.ts';

const LOOK_AT_MEMORY_EVERY_MS = 250;
/** How an answer begins in what the command prints. */
const ANSWER = '{"position":';
const PER_STEP = 1_000;

/** One `onelane publish FILE` as it went. */
export interface FilePublish {
  /** monotonic ms, from the start to each thousand answers */
  readonly answeredAtMs: readonly number[];
  readonly rssMb: readonly number[];
}

/** Publishes a file by the command as it is installed, and watches its answers and its memory. */
export async function publishFile(stand: Stand, items: number): Promise<FilePublish> {
  const file = join(stand.folder, 'items.ndjson');
  await pipeline(Readable.from(linesOf(items)), createWriteStream(file));
  const args = [MAIN, 'publish', file, '--lane', LANE, '--batch', 'file', '--wait', '10m', '--json'];
  const begunAtMs = performance.now();
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
    const answeredAtMs = await stepsOf(child.stdout, () => performance.now() - begunAtMs);
    const [code]: unknown[] = await closed;
    if (code !== 0) throw new Error(`onelane publish ended with ${String(code)}`);
    return { answeredAtMs, rssMb };
  } finally {
    clearInterval(look);
    process.removeListener('exit', end);
    end();
  }
}

function* linesOf(items: number): Generator<string> {
  for (let page = 0; page * MAX_PAGE_ITEMS < items; page++) {
    const count = Math.min(MAX_PAGE_ITEMS, items - page * MAX_PAGE_ITEMS);
    for (const item of itemsOf('file', page, count)) yield `${JSON.stringify(item)}\n`;
  }
}

async function stepsOf(stdout: Readable, now: () => number): Promise<number[]> {
  const steps: number[] = [];
  let answers = 0;
  let rest = '';
  for await (const chunk of stdout.setEncoding('utf8')) {
    const parts = (rest + String(chunk)).split(ANSWER);
    answers += parts.length - 1;
    // An answer's beginning may be cut in two.
    rest = (parts.at(-1) ?? '').slice(-ANSWER.length);
    while (answers >= (steps.length + 1) * PER_STEP) steps.push(now());
  }
  return steps;
}
