import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { type ItemFormat, ItemTextError, itemsIn } from '../domain/item-text.ts';
import { CliError, EXIT } from './exit.ts';

/** The whole file is held in memory, several times over. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/**
 * Reads a batch's items: `.ndjson` or `.jsonl` (one item a line, blank lines skipped), or `.json` (an array,
 * or `{ "items": [...] }`). An item that JSON did not carry exactly does not stop the others: an
 * `UnreadableItem` stands in its place, saying `line 7: …` or `item 7: …` (both counted from 1), and is
 * rejected with that reason when the batch is published.
 *
 * @throws CliError when the file as a whole cannot be used
 */
export async function readItems(file: string): Promise<unknown[]> {
  const text = await readText(file);
  const items = itemsOf(text, file);
  if (items.length === 0) throw new CliError(EXIT.usage, `${file}: expected at least one item, got none`);
  return items;
}

function itemsOf(text: string, file: string): unknown[] {
  try {
    return itemsIn(text, formatOf(file));
  } catch (error) {
    if (error instanceof ItemTextError) throw new CliError(EXIT.usage, `${file}: ${error.message}`);
    throw error;
  }
}

function formatOf(file: string): ItemFormat {
  switch (extname(file).toLowerCase()) {
    case '.ndjson':
    case '.jsonl':
      return 'ndjson';
    case '.json':
      return 'json';
    default:
      throw new CliError(EXIT.usage, `${file}: expected a file named .ndjson, .jsonl or .json`);
  }
}

async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > MAX_FILE_BYTES) throw new Error(`expected at most 256 MiB, got ${size} bytes`);
    // Drops a byte order mark, which some editors write and JSON.parse refuses.
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw new CliError(
      EXIT.usage,
      `${file}: cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
