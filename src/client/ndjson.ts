import { ItemTextError, MAX_ITEM_BYTES, itemInLine, tooLong } from '../domain/item-text.ts';

/** Whatever has no line end for so long is not one item a line, and may never end. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = '\uFEFF';

/** A line without its end; null: longer than any item, so that it was not kept. */
type Line = Buffer | null;

/**
 * The items of a stream of bytes, one item a line, as `itemsIn` reads them from a text. No more than one line and
 * one piece of the stream is held at a time.
 *
 * @throws ItemTextError when the stream as a whole can't be used: a line is not UTF-8, or does not end
 */
export async function* ndjsonItems(bytes: AsyncIterable<Uint8Array>): AsyncGenerator {
  // Fatal, since a character that was replaced would be another item; a mark inside of the stream is one, too.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let number = 0;
  for await (const line of linesOf(bytes)) {
    number += 1;
    if (line === null) yield tooLong(`line ${number}`);
    else yield* itemInLine(textOf(line, number, decoder), number);
  }
}

function textOf(line: Buffer, number: number, decoder: InstanceType<typeof TextDecoder>): string {
  let text: string;
  try {
    text = decoder.decode(line);
  } catch {
    throw new ItemTextError(`line ${number}: not UTF-8`);
  }
  // Some editors write one, and JSON.parse refuses it.
  return number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let pieces: Buffer[] = [];
  let length = 0;
  let number = 1;
  const take = (piece: Buffer): void => {
    length += piece.length;
    if (length > MAX_LINE_BYTES)
      throw new ItemTextError(`line ${number}: longer than 64 MiB, so this is not one item a line`);
    if (length <= MAX_ITEM_BYTES) pieces.push(piece);
    else pieces = [];
  };
  const line = (): Line => {
    const whole = length <= MAX_ITEM_BYTES ? Buffer.concat(pieces, length) : null;
    pieces = [];
    length = 0;
    number += 1;
    return whole;
  };
  for await (const chunk of bytes) {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let to = buffer.indexOf(LINE_FEED); to >= 0; to = buffer.indexOf(LINE_FEED, from)) {
      take(buffer.subarray(from, to));
      yield line();
      from = to + 1;
    }
    take(buffer.subarray(from));
  }
  if (length > 0) yield line();
}
