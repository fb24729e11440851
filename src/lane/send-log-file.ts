import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { type LineBody, readLine, sealLine } from '../domain/audit/lines.ts';
import { digest } from '../domain/canonical.ts';

/** Read back of a file, to go on behind its last whole line. Far more than any line of ours. */
const TAIL_BYTES = 64 * 1024;
/** How a file's first line begins: in canonical JSON, `at` is the first field of a `log` line. */
const FIRST_LINE = '{"at":';

export interface SendLogWriter {
  /** names the process, e.g. its Temporal identity */
  readonly process: string;
  /** names the machine: the clocks of one host's processes compare, those of two hosts differ */
  readonly host: string;
}

/** The file can't be used as a send log, or no longer. */
export class SendLogError extends Error {
  override readonly name = 'SendLogError';
}

/**
 * The file of a send log: chains the lines, and hands each to the kernel before `write` returns, so that it
 * outlives the process, though not the machine.
 *
 * A line that can't be written makes the file unusable for good: from then on no call can leave, which is better
 * than one that nobody can account for.
 */
export class SendLogFile {
  /** random: names this process's part of the file */
  readonly nonce = randomBytes(8).toString('hex');
  readonly #file: string;
  readonly #fd: number;
  #prev: string | null;
  #broken: SendLogError | null = null;

  /** @throws SendLogError when the file is something else, or can't be written */
  constructor(file: string, { process, host }: SendLogWriter) {
    this.#file = file;
    try {
      mkdirSync(dirname(file), { recursive: true });
      this.#fd = openSync(file, 'a+');
    } catch (error) {
      throw this.#error('cannot be opened', error);
    }
    try {
      const { lastHash, torn, unfinished } = readEnd(this.#fd);
      if (unfinished) writeAll(this.#fd, '\n');
      this.#prev = lastHash;
      this.write({
        kind: 'log',
        format: 1,
        nonce: this.nonce,
        process,
        host,
        at: instantNow(),
        torn: torn === null ? null : digest(torn),
      });
      this.assertUsable();
    } catch (error) {
      closeSync(this.#fd);
      throw error instanceof SendLogError ? error : this.#error('cannot be gone on with', error);
    }
  }

  /** Does not throw: what has happened has happened. Who wants to do something next asks `assertUsable`. */
  write(body: LineBody): void {
    if (this.#broken !== null) return;
    const { text, hash } = sealLine(body, this.#prev);
    try {
      writeAll(this.#fd, `${text}\n`);
      this.#prev = hash;
    } catch (error) {
      this.#broken = this.#error('cannot be written', error);
    }
  }

  /** @throws SendLogError when a line could not be written, now or earlier */
  assertUsable(): void {
    if (this.#broken !== null) throw this.#broken;
  }

  close(): void {
    this.#broken ??= new SendLogError(`${this.#file}: is closed`);
    closeSync(this.#fd);
  }

  #error(what: string, error: unknown): SendLogError {
    return new SendLogError(
      `${this.#file}: ${what}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Instants of the log: epoch ms, to the microsecond, on a clock that never steps while its process runs. */
export function instantOf(monotonicMs: number): number {
  return Math.round((performance.timeOrigin + monotonicMs) * 1_000) / 1_000;
}

export function instantNow(): number {
  return instantOf(performance.now());
}

interface FileEnd {
  /** null: no line was ever written whole */
  readonly lastHash: string | null;
  /** what stands behind the last whole line */
  readonly torn: string | null;
  /** the file does not end with a line break */
  readonly unfinished: boolean;
}

function readEnd(fd: number): FileEnd {
  const { size } = fstatSync(fd);
  const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
  readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  const lines = bytes.toString('utf8').split('\n');
  const unfinished = lines.at(-1) !== '';
  if (!unfinished) lines.pop();

  const behind: string[] = [];
  for (let text = lines.pop(); text !== undefined; text = lines.pop()) {
    const read = readLine(text);
    if (read.ok)
      return { lastHash: read.line.hash, torn: behind.length === 0 ? null : behind.join('\n'), unfinished };
    behind.unshift(text);
  }
  if (size === 0) return { lastHash: null, torn: null, unfinished: false };
  const torn = behind.join('\n');
  if (!torn.startsWith(FIRST_LINE) && !FIRST_LINE.startsWith(torn))
    throw new Error('expected a send log or an empty file, got something else');
  return { lastHash: null, torn, unfinished };
}

/** A file system that runs full takes a part. */
function writeAll(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}
