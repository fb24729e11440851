import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ndjsonItems } from '../../src/client/ndjson.ts';
import { ItemTextError, itemsIn } from '../../src/domain/item-text.ts';

async function collected(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function* chunks(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (let n = 0; from < bytes.length; n++) {
    const to = from + (sizes[n % sizes.length] ?? 1);
    yield bytes.subarray(from, to);
    from = to;
  }
}

describe('a stream of one item a line', () => {
  it('gives what its text gives, however it is cut into pieces', async () => {
    const line = fc.oneof(fc.json({ maxDepth: 2 }), fc.string({ unit: 'binary' }));
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.array(line), sizes, async (lines, pieces) => {
        const text = lines.join('\n').replace(/^\uFEFF+/, '');
        const streamed = await collected(ndjsonItems(chunks(Buffer.from(text), pieces)));
        assert.deepEqual(streamed, itemsIn(text, 'ndjson'));
      }),
    );
  });

  it('may begin with a byte order mark', async () => {
    assert.deepEqual(await collected(ndjsonItems(chunks(Buffer.from('\uFEFF{"key":"a"}\n'), [2]))), [
      { key: 'a' },
    ]);
  });

  it('with a line far too long goes on after it', async () => {
    const text = `1\n"${'x'.repeat(3 * 1024 * 1024)}"\n3\n`;
    assert.deepEqual(await collected(ndjsonItems(chunks(Buffer.from(text), [65_536]))), [
      1,
      { unreadable: 'line 2: longer than 1 MiB' },
      3,
    ]);
  });

  it('with a line that does not end is refused, in bounded memory', async () => {
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('1\n');
      for (;;) {
        given += 65_536;
        yield new Uint8Array(65_536).fill(0x20);
      }
    }
    const before = process.memoryUsage().arrayBuffers;
    await assert.rejects(collected(ndjsonItems(endless())), {
      name: ItemTextError.name,
      message: 'line 2: longer than 64 MiB, so this is not one item a line',
    });
    assert.equal(given, 64 * 1024 * 1024 + 65_536);
    assert.ok(process.memoryUsage().arrayBuffers - before < 64 * 1024 * 1024);
  });

  it('that is not UTF-8 is refused by its line', async () => {
    const bytes = Buffer.concat([Buffer.from('1\n2\n"'), Uint8Array.of(0xff), Buffer.from('"\n')]);
    await assert.rejects(collected(ndjsonItems(chunks(bytes, [3]))), {
      name: ItemTextError.name,
      message: 'line 3: not UTF-8',
    });
  });

  it('that is cut off in the middle of an item keeps its place', async () => {
    assert.deepEqual(await collected(ndjsonItems(chunks(Buffer.from('{"key":"a"}\n{"key":"b'), [4]))), [
      { key: 'a' },
      { unreadable: 'line 2: not JSON at column 8: unexpected end of string' },
    ]);
  });
});
