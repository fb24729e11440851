import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import { utf8Length } from './canonical.ts';
import type { UnreadableItem } from './item.ts';
import { exactnessFault, membersOf } from './json-text.ts';

/** A page of a batch is at most 1 MiB, so a longer item could not be published, whatever it says. */
export const MAX_ITEM_BYTES = 1024 * 1024;
/** Longer ones are no keys, and would only bloat the answer. */
const MAX_KEY_LENGTH = 255;

/** `ndjson`: one item a line, blank lines skipped. `json`: an array, or `{ "items": [...] }`. */
export type ItemFormat = 'ndjson' | 'json';

/** A text that holds no items as a whole. */
export class ItemTextError extends Error {
  override readonly name = 'ItemTextError';
}

/**
 * The items that a text holds. One that JSON did not carry exactly does not stop the others: an `UnreadableItem`
 * stands in its place, saying `line 7: …` or `item 7: …` (both counted from 1), and is rejected with that reason when
 * the batch is published.
 *
 * @throws ItemTextError when the text as a whole can't be used
 */
export function itemsIn(text: string, format: ItemFormat): unknown[] {
  switch (format) {
    case 'ndjson':
      return text.split('\n').flatMap((line, i) => itemInLine(line, i + 1));
    case 'json':
      return elementsIn(text).map((element, i) => readItem(element, `item ${i + 1}`));
  }
}

/** The item of one line, whose number counts from 1; none when it is blank. */
export function itemInLine(line: string, number: number): unknown[] {
  return line.trim() === '' ? [] : [readItem(line, `line ${number}`)];
}

/** What stands in the place of a line that is so long that it isn't read. */
export function tooLong(place: string): UnreadableItem {
  return unreadable(`${place}: longer than 1 MiB`);
}

/** The text of each element of the text's array. */
function elementsIn(text: string): string[] {
  const parsed = parse(text);
  if (!parsed.ok) throw new ItemTextError(`not JSON${parsed.where(true)}`);
  if (Array.isArray(parsed.value)) return membersOf(text).map((member) => member.text);
  const [items, ...others] = typeof parsed.value === 'object' && parsed.value !== null ? membersOf(text) : [];
  if (items?.name !== 'items' || !items.text.startsWith('[') || others.length > 0)
    throw new ItemTextError('expected an array of items, or an object with nothing but "items"');
  return membersOf(items.text).map((member) => member.text);
}

function readItem(text: string, place: string): unknown {
  if (utf8Length(text) > MAX_ITEM_BYTES) return tooLong(place);
  const parsed = parse(text);
  if (!parsed.ok) return unreadable(`${place}: not JSON${parsed.where(false)}`);
  const fault = exactnessFault(text);
  return fault === undefined ? parsed.value : unreadable(`${place}: ${fault}`, parsed.value);
}

/** Stands where no item could be read, with its key where it has one, so that its publisher finds it by that too. */
export function unreadable(reason: string, item?: unknown): UnreadableItem {
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
