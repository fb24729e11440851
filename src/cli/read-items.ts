import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { ndjsonItems } from '../client/ndjson.ts';
import { ItemTextError, itemsIn } from '../domain/item-text.ts';
import { CliError, EXIT } from './exit.ts';

/** As a file's name: items one a line, from stdin. */
export const STDIN = '-';
/** A JSON text is held in memory, several times over; NDJSON is not. */
const MAX_JSON_BYTES = 256 * 1024 * 1024;

/**
 * Reads a batch's items, from its beginning each time: `.ndjson` or `.jsonl` (one item a line, blank lines skipped,
 * of any length), `.json` (an array, or `{ "items": [...] }`), or `-` (NDJSON on stdin, once only). An item that JSON
 * did not carry exactly does not stop the others: an `UnreadableItem` stands in its place, saying `line 7: …` or
 * `item 7: …` (both counted from 1), and is rejected with that reason when the batch is published.
 *
 * @throws CliError when the file as a whole cannot be used
 */
export async function* readItems(file: string): AsyncGenerator {
  const name = file === STDIN ? 'stdin' : file;
  let none = true;
  try {
    for await (const item of itemsOf(file)) {
      none = false;
      yield item;
    }
  } catch (error) {
    if (error instanceof ItemTextError) throw new CliError(EXIT.usage, `${name}: ${error.message}`);
    if (isOfFiles(error)) throw new CliError(EXIT.usage, `${name}: cannot be read: ${error.message}`);
    throw error;
  }
  if (none) throw new CliError(EXIT.usage, `${name}: expected at least one item, got none`);
}

async function* itemsOf(file: string): AsyncGenerator {
  if (file === STDIN) return yield* ndjsonItems(process.stdin);
  await mustBeReadableTwice(file);
  switch (extname(file).toLowerCase()) {
    case '.ndjson':
    case '.jsonl':
      return yield* ndjsonItems(createReadStream(file));
    case '.json':
      return yield* itemsIn(await readText(file), 'json');
    default:
      throw new CliError(
        EXIT.usage,
        `${file}: expected a file named .ndjson, .jsonl or .json, or - for NDJSON on stdin`,
      );
  }
}

/** A batch is counted before it is published. Opening a pipe for the second time would wait for ever. */
async function mustBeReadableTwice(file: string): Promise<void> {
  const found = await stat(file);
  if (!found.isFile() && !found.isDirectory())
    throw new CliError(
      EXIT.usage,
      `${file}: expected a file, which can be read twice, got a pipe or device; - reads NDJSON from stdin`,
    );
}

async function readText(file: string): Promise<string> {
  const { size } = await stat(file);
  if (size > MAX_JSON_BYTES)
    throw new ItemTextError(
      `expected at most 256 MiB of JSON, got ${size} bytes; NDJSON may be of any length`,
    );
  const bytes = await readFile(file);
  try {
    // Drops a byte order mark, which some editors write and JSON.parse refuses.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ItemTextError('not UTF-8');
  }
}

/** ENOENT and its like. */
function isOfFiles(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}
