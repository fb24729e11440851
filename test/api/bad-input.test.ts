import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { type Answered, ask } from '../support/api.ts';
import { useAwayApi } from '../support/api-stage.ts';

const api = useAwayApi();

const ITEMS = [{ key: 'bad:a', payload: 1 }];
const BODY = { lane: 'releases', items: ITEMS };

function publish(body: unknown, headers: Record<string, string> = {}, query = ''): Promise<Answered> {
  return ask(api.url, `/v1/batches${query}`, { body, headers: { 'Idempotency-Key': 'bad', ...headers } });
}

test('a request that is as documented gets so far as to find Temporal away', async () => {
  const answered = await publish(BODY);
  assert.equal(answered.problem().type, 'urn:onelane:problem:away');
  assert.equal(answered.headers.get('retry-after'), '5');
});

test('each field that is wrong is named, with what was expected', async () => {
  const cases: [unknown, string][] = [
    [{ items: ITEMS }, 'body.lane'],
    [{ lane: 7, items: ITEMS }, 'body.lane'],
    [{ lane: '', items: ITEMS }, 'body.lane'],
    [{ lane: 'a/b', items: ITEMS }, 'body.lane'],
    [{ lane: 'a\r\nX: y', items: ITEMS }, 'body.lane'],
    [{ lane: 'x'.repeat(201), items: ITEMS }, 'body.lane'],
    [{ lane: 'releases' }, 'body.items'],
    [{ lane: 'releases', items: [] }, 'body.items'],
    [{ lane: 'releases', items: {} }, 'body.items'],
    [{ lane: 'releases', items: 'a' }, 'body.items'],
    [{ ...BODY, publisher: 'somebody else' }, 'body'],
    [[], 'body'],
    ['null', 'body'],
    ['7', 'body'],
    ['', 'body'],
    ['{"lane": "releases", "items": [', 'body'],
    ['{"lane": "releases", "lane": "other", "items": [1]}', 'body.lane'],
    [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'body'],
    [`{"lane": "releases", "items": ${'['.repeat(500_000)}`, 'body'],
    ['{"lane": "releases", "items": [1], "\\ud800": 1}', 'body'],
  ];
  for (const [body, field] of cases) {
    const refused = await publish(body);
    const name = JSON.stringify(body).slice(0, 100);
    assert.equal(refused.status, 400, `${name}: ${refused.text.slice(0, 300)}`);
    assert.equal(refused.problem().errors?.[0]?.field, field, `${name}: ${refused.text.slice(0, 300)}`);
  }
});

test('each parameter that is wrong is named', async () => {
  for (const wait of ['', '1', '61s', '2m', '-1s', '1.5s', 'NaN', '1e3s', '10s&wait=5s']) {
    const refused = await publish(BODY, {}, `?wait=${wait}`);
    assert.equal(refused.problem().errors?.[0]?.field, 'query.wait', `${wait}: ${refused.text}`);
  }
  assert.equal((await publish(BODY, {}, '?wiat=5s')).problem().errors?.[0]?.field, 'query');
  const badKeys = [
    '',
    '%20',
    '%20a',
    'a%20',
    '.',
    'batch%2Fx',
    'lane%2Fx',
    '%C3%BC',
    '%0d%0aX: y',
    'x'.repeat(256),
  ];
  for (const key of badKeys) {
    const { status, text: body } = await ask(api.url, `/v1/items/${key}`);
    assert.ok(status === 400 || status === 404, `${key}: ${status} ${body}`);
  }
  assert.equal((await ask(api.url, '/v1/items/%zz')).problem().status, 400);
  assert.equal(
    (await ask(api.url, '/v1/batches/a/items?page=-1')).problem().errors?.[0]?.field,
    'query.page',
  );
});

test('an Idempotency-Key that is missing, malformed or there twice is 400', async () => {
  const none = await ask(api.url, '/v1/batches', { body: BODY });
  assert.equal(none.problem().type, 'urn:onelane:problem:no-idempotency-key');
  for (const id of ['', 'a/b', '"unclosed', 'a"b', 'a\\b', '.', '..', 'x'.repeat(201), 'ü', '"a";p=1'])
    assert.equal(
      (await publish(BODY, { 'Idempotency-Key': id })).problem().type,
      'urn:onelane:problem:no-idempotency-key',
      id,
    );
  const twice = await raw(
    `POST /v1/batches HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 2\r\n\r\n{}`,
  );
  assert.match(twice, /^HTTP\/1\.1 400 [^]*no-idempotency-key/);
});

test('another media type is 415', async () => {
  for (const type of [
    'text/plain',
    'application/x-ndjson',
    'application/jsonp',
    'application/xml',
    'nonsense',
  ])
    assert.equal((await publish(BODY, { 'Content-Type': type })).problem().status, 415, type);
});

test('items of more than 1 MiB are 413, and so is a body of more than 2 MiB; white space counts to the body only', async () => {
  const MiB = 1024 * 1024;
  for (const [what, body, status] of [
    ['all but 1 MiB', ofLength(MiB), 503],
    ['more than 1 MiB', ofLength(MiB + 100), 413],
    ['2 MiB', ofLength(2 * MiB), 413],
    ['more than 2 MiB', ofLength(2 * MiB + 1), 413],
    ['little in much white space', spaced(1.9 * MiB), 503],
    ['little in too much white space', spaced(2 * MiB), 413],
  ] as const)
    assert.equal((await publish(body)).problem().status, status, what);
});

/** A body of so many bytes, nearly all of them in its one item. */
function ofLength(bytes: number): string {
  const around = '{"lane": "releases", "items": [""]}';
  return around.replace('""', `"${'x'.repeat(bytes - around.length)}"`);
}

/** A body with so many spaces in front. */
function spaced(bytes: number): string {
  return ' '.repeat(bytes) + JSON.stringify(BODY);
}

test('what operators ask is checked, too, and its reason cannot be left out', async () => {
  for (const path of [
    '/v1/lanes/releases/pause',
    '/v1/lanes/releases/drain',
    '/v1/items/a/discard',
    '/v1/batches/a/pause',
  ]) {
    for (const body of [{}, { reason: '' }, { reason: ' \n' }, { reason: 7 }, { reason: 'x'.repeat(1_001) }])
      assert.deepEqual(await fieldsOf(path, body), ['body.reason'], `${path} ${JSON.stringify(body)}`);
    assert.deepEqual(await fieldsOf(path, { reason: 'x', by: 'somebody else' }), ['body'], path);
  }
  for (const requests of [0, -1, 1.5, '5', 10_001])
    assert.deepEqual(await fieldsOf('/v1/lanes/releases/override', { reason: 'x', requests }), [
      'body.requests',
    ]);
});

test('a body that is cut off in the middle, and what is no HTTP, leave the service up', async () => {
  const { port } = new URL(api.url);
  const cut = connect(Number(port), '127.0.0.1');
  cut.write('POST /v1/batches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n');
  cut.write('Idempotency-Key: cut\r\nContent-Length: 1000\r\n\r\n{"lane": "rel');
  await once(cut, 'ready');
  cut.destroy();
  assert.match(await raw('nonsense\r\n\r\n'), /^HTTP\/1\.1 400 [^]*problem\+json/);
  const headers = `X-Long: ${'x'.repeat(100_000)}`;
  assert.match(
    await raw(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n`),
    /^HTTP\/1\.1 431 /,
  );
  assert.equal((await ask(api.url, '/healthz')).status, 200);
});

test('a path with another method is 405, and says which methods it takes', async () => {
  const refused = await ask(api.url, '/v1/batches', { method: 'DELETE' });
  assert.equal(refused.problem().status, 405);
  assert.equal(refused.headers.get('allow'), 'POST');
});

/** The fields that a refusal names. */
async function fieldsOf(path: string, body: unknown): Promise<string[] | undefined> {
  return (await ask(api.url, path, { body })).problem().errors?.map(({ field }) => field);
}

/** Sends bytes as they are, and returns all that comes back. */
async function raw(bytes: string): Promise<string> {
  const { port } = new URL(api.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(bytes);
  return await text(socket);
}
