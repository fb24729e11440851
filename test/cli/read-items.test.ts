import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { CliError, EXIT } from '../../src/cli/exit.ts';
import { readItems } from '../../src/cli/read-items.ts';
import { UnreadableItemSchema } from '../../src/domain/item.ts';

const folder = mkdtempSync(join(tmpdir(), 'onelane-items-'));
after(() => rmSync(folder, { recursive: true }));

async function collected(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function read(name: string, content: string | Uint8Array): Promise<unknown[]> {
  const file = join(folder, name);
  writeFileSync(file, content);
  return collected(readItems(file));
}

const itemOf = (bytes: number) => `{"key":"a","payload":"${'é'.repeat((bytes - 24) / 2)}"}`;

async function refusal(name: string, content: string | Uint8Array): Promise<string> {
  const error: unknown = await read(name, content).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert(error instanceof CliError, `expected a CliError, got ${String(error)}`);
  assert.equal(error.exitCode, EXIT.usage);
  return error.message.replace(join(folder, name), 'FILE');
}

describe('a file of one item a line', () => {
  it('blank lines, line ends and a byte order mark are not items', async () => {
    const items = [
      { key: 'a', payload: 1 },
      { key: 'b', payload: { ü: null } },
    ];
    const text = `\uFEFF${JSON.stringify(items[0])}\r\n\r\n  \n${JSON.stringify(items[1])}`;
    assert.deepEqual(await read('a.ndjson', text), items);
    assert.deepEqual(await read('a.JSONL', text), items);
  });

  it('a bad line takes its own place, says why, and does not stop the rest', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const lines = [
      '{"key":"a","payload":1}',
      '{"key":"b","payload":}',
      '',
      '{"key":"c","payload":{"n":1,"n":2}}',
      '{"key":"d","payload":12345678901234567890}',
      `{"key":"e","payload":1e400}`,
      `{"key":"f","payload":${deep}}`,
      `{"key":"g","payload":${deep}`,
      '{"key":"h","payload":2} // two',
      '{"key":"i","payload":3}',
    ];
    assert.deepEqual(await read('b.ndjson', lines.join('\n')), [
      { key: 'a', payload: 1 },
      { unreadable: 'line 2: not JSON at column 22: value expected' },
      { unreadable: 'line 4: payload.n: stands twice', key: 'c' },
      {
        unreadable:
          'line 5: payload: 12345678901234567890 is a number that readers round; send it as a string',
        key: 'd',
      },
      { unreadable: 'line 6: payload: 1e400 is a number that readers round; send it as a string', key: 'e' },
      { unreadable: 'line 7: nested deeper than 64 levels', key: 'f' },
      { unreadable: 'line 8: not JSON' },
      { unreadable: 'line 9: not JSON at column 25: invalid comment token' },
      { key: 'i', payload: 3 },
    ]);
  });

  it('a line over 1 MiB is not parsed, one of exactly 1 MiB is', async () => {
    assert.equal(Buffer.byteLength(itemOf(1024 * 1024)), 1024 * 1024);
    const [longest, tooLong] = await read('c.ndjson', `${itemOf(1024 * 1024)}\n${itemOf(1024 * 1024 + 2)}`);
    assert(typeof longest === 'object' && longest !== null && 'key' in longest);
    assert.deepEqual(tooLong, { unreadable: 'line 2: longer than 1 MiB' });
  });

  it('a key too long to be one is not repeated', async () => {
    const lines = [256, 255].map((length) => `{"key":"${'k'.repeat(length)}","payload":1e400}`);
    const items = await read('f.ndjson', lines.join('\n'));
    assert.deepEqual(
      items.map((item) => UnreadableItemSchema.parse(item).key),
      [undefined, 'k'.repeat(255)],
    );
  });

  it('what is JSON but no item is left to the lane to reject', async () => {
    assert.deepEqual(await read('d.ndjson', '42\n"x"\nnull'), [42, 'x', null]);
  });

  it('any lines give one item each, in order, and each unreadable one as dispatch takes it', async () => {
    const line = fc.oneof(
      fc.json({ maxDepth: 2 }),
      fc.string().filter((text) => text.trim() !== '' && !/[\n\uFEFF]/.test(text)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 8 }), async (lines) => {
        const items = await read('e.ndjson', lines.join('\n'));
        assert.equal(items.length, lines.length);
        for (const [i, item] of items.entries()) {
          const unreadable = UnreadableItemSchema.safeParse(item);
          if (unreadable.success) assert(unreadable.data.unreadable.startsWith(`line ${i + 1}: `));
          else assert.deepEqual(item, JSON.parse(lines[i] ?? ''));
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('a file of one JSON text', () => {
  const text = '[{"key":"a","payload":1}, {"key":"b","payload":{"x":1,"x":2}},\n {"key":"c","payload":[2]}]';
  const items = [
    { key: 'a', payload: 1 },
    { unreadable: 'item 2: payload.x: stands twice', key: 'b' },
    { key: 'c', payload: [2] },
  ];

  it('is an array, or an object with items', async () => {
    assert.deepEqual(await read('a.json', text), items);
    assert.deepEqual(await read('a.json', `\uFEFF{ "items" : ${text} }\n`), items);
  });

  it('an element that nests too deep does not stop the rest', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    assert.deepEqual(await read('b.json', `[${deep},1]`), [
      { unreadable: 'item 1: nested deeper than 64 levels' },
      1,
    ]);
  });

  it('one that is not JSON is refused with line and column', async () => {
    assert.equal(
      await refusal('c.json', '[\n  {"a": 1,}\n]'),
      'FILE: not JSON at line 2, column 11: property name expected',
    );
    assert.equal(await refusal('c.json', '['.repeat(100_000)), 'FILE: not JSON');
  });

  for (const other of [
    '{}',
    '"x"',
    'null',
    '{"items":{}}',
    '{"items":[1],"batchId":"x"}',
    '{"items":[1],"items":[2]}',
  ])
    it(`${other} is refused`, async () => {
      assert.equal(
        await refusal('d.json', other),
        'FILE: expected an array of items, or an object with nothing but "items"',
      );
    });
});

describe('a file that cannot be used', () => {
  it('one without items is refused', async () => {
    for (const [name, content] of [
      ['a.ndjson', ''],
      ['a.ndjson', '\n \n'],
      ['a.json', '[]'],
      ['a.json', '{"items":[ ]}'],
    ] as const)
      assert.equal(await refusal(name, content), 'FILE: expected at least one item, got none');
    assert.match(await refusal('a.json', ''), /^FILE: not JSON at line 1, column 1: value expected/);
  });

  it('one that is not UTF-8 is refused', async () => {
    const broken = Uint8Array.of(0x22, 0xff, 0x22);
    assert.equal(await refusal('b.ndjson', broken), 'FILE: line 1: not UTF-8');
    assert.equal(await refusal('b.json', broken), 'FILE: not UTF-8');
  });

  it('another kind of file is refused', async () => {
    assert.equal(
      await refusal('c.csv', 'a,b'),
      'FILE: expected a file named .ndjson, .jsonl or .json, or - for NDJSON on stdin',
    );
  });

  it('a missing file, or a folder, is refused with the reason', async () => {
    await assert.rejects(
      collected(readItems(join(folder, 'none.ndjson'))),
      /none\.ndjson: cannot be read: ENOENT/,
    );
    await assert.rejects(collected(readItems(folder)), { name: 'CliError', exitCode: EXIT.usage });
  });

  it('a pipe, which can be read once only, is refused before it is waited for', async () => {
    const pipe = join(folder, 'pipe.ndjson');
    execFileSync('mkfifo', [pipe]);
    await assert.rejects(collected(readItems(pipe)), {
      name: 'CliError',
      message: `${pipe}: expected a file, which can be read twice, got a pipe or device; - reads NDJSON from stdin`,
    });
  });
});
