import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import type { UnreadableItem } from '../domain/item.ts';
import { exactnessFault, membersOf } from '../domain/json-text.ts';
import { CliError, EXIT } from './exit.ts';

/** A page of a batch is at most 1 MiB, so a longer item could not be published, whatever it says. */
const MAX_ITEM_BYTES = 1024 * 1024;
/** The whole file is held in memory, several times over. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;
/** Longer ones are no keys, and would only bloat the answer. */
const MAX_KEY_LENGTH = 255;

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
  const items = itemsIn(text, file);
  if (items.length === 0) throw new CliError(EXIT.usage, `${file}: expected at least one item, got none`);
  return items;
}

function itemsIn(text: string, file: string): unknown[] {
  switch (extname(file).toLowerCase()) {
    case '.ndjson':
    case '.jsonl':
      return text
        .split('\n')
        .flatMap((line, i) => (line.trim() === '' ? [] : [readItem(line, `line ${i + 1}`)]));
    case '.json':
      return elementsIn(text, file).map((element, i) => readItem(element, `item ${i + 1}`));
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

/** The text of each element of the file's array. */
function elementsIn(text: string, file: string): string[] {
  const parsed = parse(text);
  if (!parsed.ok) throw new CliError(EXIT.usage, `${file}: not JSON${parsed.where(true)}`);
  if (Array.isArray(parsed.value)) return membersOf(text).map((member) => member.text);
  const [items, ...others] = typeof parsed.value === 'object' && parsed.value !== null ? membersOf(text) : [];
  if (items?.name !== 'items' || !items.text.startsWith('[') || others.length > 0)
    throw new CliError(
      EXIT.usage,
      `${file}: expected an array of items, or an object with nothing but "items"`,
    );
  return membersOf(items.text).map((member) => member.text);
}

function readItem(text: string, place: string): unknown {
  if (Buffer.byteLength(text) > MAX_ITEM_BYTES) return unreadable(`${place}: longer than 1 MiB`);
  const parsed = parse(text);
  if (!parsed.ok) return unreadable(`${place}: not JSON${parsed.where(false)}`);
  const fault = exactnessFault(text);
  return fault === undefined ? parsed.value : unreadable(`${place}: ${fault}`, parsed.value);
}

/** With the item's key where it has one, so that its publisher finds it by that too. */
function unreadable(reason: string, item?: unknown): UnreadableItem {
  const key: unknown = typeof item === 'object' && item !== null && 'key' in item ? item.key : undefined;
  return typeof key === 'string' && key.length <= MAX_KEY_LENGTH
    ? { unreadable: reason, key }
    : { unreadable: reason };
}

type Parsed = { ok: true; value: unknown } | { ok: false; where: (withLine: boolean) => string };

/** JSON.parse decides; what it says of the place differs between versions of Node, so that is asked elsewhere. */
function parse(text: string): Parsed {
  try {
    const value: unknown = JSON.parse(text);
    return { ok: true, value };
  } catch {
    return { ok: false, where: (withLine) => syntaxErrorIn(text, withLine) };
  }
}

/** ` at line 3, column 7: comma expected`, or nothing where the place can't be found. */
function syntaxErrorIn(text: string, withLine: boolean): string {
  let found = '';
  const onError = (
    code: ParseErrorCode,
    _offset: number,
    _length: number,
    line: number,
    character: number,
  ) => {
    const what = printParseErrorCode(code)
      .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
      .toLowerCase();
    found ||= ` at ${withLine ? `line ${line + 1}, ` : ''}column ${character + 1}: ${what}`;
  };
  try {
    visit(text, { onError }, { disallowComments: true });
  } catch {
    // It recurses, and text that nests too deep and is broken besides ends its stack: then without a place.
  }
  return found;
}
