import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import getPort from 'get-port';
import { type Asked, SourceError, readSource } from '../../src/activities/read-source.ts';
import type { SourceConfig } from '../../src/config/source.ts';

const ASKED: Asked = {
  schedule: 'nightly',
  window: { start: '2026-08-11T22:30:00Z', end: '2026-08-12T22:30:00Z' },
  timeZone: 'Europe/Berlin',
};
const JSON_TYPE = { 'Content-Type': 'application/json' };

let server: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let address: string;
before(async () => {
  server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  assert.ok(typeof bound === 'object' && bound !== null);
  address = `http://127.0.0.1:${bound.port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

async function read(config: Partial<Extract<SourceConfig, { kind: 'http' }>> = {}): Promise<unknown[]> {
  const source: SourceConfig = {
    kind: 'http',
    url: `${address}/items?from={start}&to={end}`,
    headers: {},
    timeoutMs: 5_000,
    ...config,
  };
  return await readSource(source, ASKED, new AbortController().signal);
}

/** Answers so, and returns the error. */
async function refusal(
  status: number,
  headers: Record<string, string>,
  body: string | Buffer,
  config = {},
): Promise<SourceError> {
  answer = (_request, response) => response.writeHead(status, headers).end(body);
  const error: unknown = await read(config).then(
    (items) => assert.fail(`got ${items.length} items`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SourceError, String(error));
  return error;
}

test('a source is asked for the window in its query, with its headers, and answers JSON or NDJSON', async () => {
  const asked: string[] = [];
  answer = (request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`);
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' }).end('[{"payload":1}]');
  };
  const headers = { Authorization: 'Bearer s3cret' };
  const url = `${address}/{schedule}?from={start}&to={end}&day={startDate}&next={endDate}`;
  assert.deepEqual(await read({ url, headers }), [{ payload: 1 }]);
  assert.deepEqual(asked, [
    '/nightly?from=2026-08-11T22%3A30%3A00Z&to=2026-08-12T22%3A30%3A00Z&day=2026-08-12&next=2026-08-13 Bearer s3cret',
  ]);
  answer = (_request, response) =>
    response
      .writeHead(200, { 'Content-Type': 'application/x-ndjson' })
      .end('{"payload":1}\n\n{"payload":2}\n');
  assert.deepEqual(await read(), [{ payload: 1 }, { payload: 2 }]);
});

test('nothing to do is an empty list or 204, and one bad item does not stop the others', async () => {
  answer = (_request, response) => response.writeHead(204).end();
  assert.deepEqual(await read(), []);
  answer = (_request, response) => response.writeHead(200, JSON_TYPE).end('[]');
  assert.deepEqual(await read(), []);
  answer = (_request, response) =>
    response.writeHead(200, JSON_TYPE).end('[{"payload":1e999},{"payload":1}]');
  const [bad, good] = await read();
  assert.match(JSON.stringify(bad), /unreadable/);
  assert.deepEqual(good, { payload: 1 });
});

test('what may pass is told from what will not, and a wish to wait is heard', async () => {
  const broken = await refusal(500, {}, 'oops');
  assert.deepEqual([broken.mayPass, broken.message], [true, 'expected status 200 or 204, got 500']);
  const busy = await refusal(429, { 'Retry-After': '7' }, '');
  assert.deepEqual([busy.mayPass, busy.retryAfterMs], [true, 7_000]);
  const shy = await refusal(503, { 'Retry-After': '3600' }, '');
  assert.deepEqual([shy.mayPass, shy.retryAfterMs], [true, 3_600_000]);
  for (const [status, wish] of [
    [503, '3601'],
    [429, '999999999999'],
    [429, 'Fri, 01 Jan 2999 00:00:00 GMT'],
  ] as const) {
    const away = await refusal(status, { 'Retry-After': wish }, '');
    assert.equal(away.mayPass, false, wish);
    assert.match(away.message, /got \d+, and a Retry-After of \d+ s, which is longer than an hour/);
  }
  for (const status of [301, 400, 401, 404, 206])
    assert.equal((await refusal(status, { Location: '/elsewhere' }, '')).mayPass, false, String(status));
});

test('an answer that is no list of items is refused whole, saying what came', async () => {
  const cases: readonly [Record<string, string>, string | Buffer, RegExp][] = [
    [{ 'Content-Type': 'text/html' }, '<html>', /expected content type .* got text\/html/],
    [{}, '[]', /got none/],
    [JSON_TYPE, '<html>', /its answer: not JSON/],
    [JSON_TYPE, '{"items": 5}', /expected an array of items/],
    [JSON_TYPE, '', /not JSON/],
    [JSON_TYPE, Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), /expected UTF-8/],
    [JSON_TYPE, `[${'{"payload":1},'.repeat(100_000)}{"payload":1}]`, /at most 100000 items .* got 100001/],
  ];
  for (const [headers, body, message] of cases) {
    const error = await refusal(200, headers, body);
    assert.match(error.message, message);
    assert.equal(error.mayPass, false);
  }
});

test('a hundred thousand items are read', async () => {
  answer = (_request, response) =>
    response.writeHead(200, JSON_TYPE).end(`[${Array(100_000).fill('{"payload":1}').join(',')}]`);
  assert.equal((await read()).length, 100_000);
});

test('an answer that is cut off, never ends or never comes may pass; one without end is given up', async () => {
  answer = (_request, response) => {
    response.writeHead(200, { ...JSON_TYPE, 'Content-Length': '100' });
    response.write('[{"payload":1},', () => response.destroy());
  };
  await assert.rejects(read(), { name: 'SourceError', mayPass: true });
  answer = () => undefined;
  await assert.rejects(read({ timeoutMs: 100 }), { mayPass: true, message: 'no whole answer within 100 ms' });
  const nobody = `http://127.0.0.1:${await getPort({ host: '127.0.0.1' })}/{start}`;
  await assert.rejects(read({ url: nobody }), { mayPass: true, message: 'no whole answer: ECONNREFUSED' });
  answer = (_request, response) => {
    response.writeHead(200, JSON_TYPE);
    const piece = Buffer.alloc(1024 * 1024, ' ');
    const more = () => {
      if (!response.destroyed) response.write(piece, more);
    };
    more();
  };
  await assert.rejects(read({ timeoutMs: 60_000 }), { mayPass: false, message: /at most 64 MiB/ });
});

test('an error names neither the address nor a header of the source', async () => {
  const secret = 's3cret-token';
  const config = {
    url: `${address}/${secret}?from={start}`,
    headers: { Authorization: `Bearer ${secret}` },
  };
  for (const status of [500, 404, 301]) {
    const error = await refusal(status, { Location: `/${secret}` }, secret, config);
    assert.ok(!`${error.message} ${error.stack}`.includes(secret));
  }
  const gone: unknown = await read({ ...config, url: `http://${secret}.invalid/{start}` }).catch(
    (e: unknown) => e,
  );
  assert.ok(gone instanceof SourceError && !gone.message.includes(secret), String(gone));
});

test('files are read in the order of their names, and a window without files is not an empty one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'onelane-source-'));
  const readFiles = (pattern: string) =>
    readSource({ kind: 'files', pattern: join(folder, pattern) }, ASKED, new AbortController().signal);
  try {
    await writeFile(join(folder, '2026-08-12-b.json'), '[{"payload":3}]');
    await writeFile(join(folder, '2026-08-12-a.ndjson'), '{"payload":1}\n{"payload":2}\n');
    await writeFile(join(folder, '2026-08-13-a.ndjson'), '{"payload":4}\n');
    assert.deepEqual(await readFiles('{startDate}-*.{json,ndjson}'), [
      { payload: 1 },
      { payload: 2 },
      { payload: 3 },
    ]);
    await assert.rejects(readFiles('{startDate}-c.json'), { mayPass: true, message: /found none/ });
    await writeFile(join(folder, '2026-08-12-c.csv'), 'a,b');
    await assert.rejects(readFiles('{startDate}-*'), {
      mayPass: false,
      message: /c\.csv: expected a file named/,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
