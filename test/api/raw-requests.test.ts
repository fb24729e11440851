import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { type Socket, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { test } from 'node:test';
import { useAwayApi } from '../support/api-stage.ts';

const api = useAwayApi();

const BODY = JSON.stringify({ lane: 'releases', items: [{ key: 'raw:a', payload: 1 }] });
const LENGTH = `Content-Length: ${BODY.length}`;

test('nonsense behind a whole request does not stand in for the answer to the request', async () => {
  for (const behind of ['nonsense\r\n\r\n', '\0\0\0', 'GET / HTTP/9.9\r\n\r\n']) {
    const answer = await sent(post([LENGTH], BODY) + behind);
    assert.match(answer, /^HTTP\/1\.1 503 [^]*urn:onelane:problem:away/, JSON.stringify(behind));
    assert.doesNotMatch(answer, /HTTP\/1\.1 400/);
  }
});

test('a body that ends before its length is 400, since nothing of it was used', async () => {
  const socket = open();
  socket.end(post([`Content-Length: ${BODY.length + 1}`], BODY));
  assert.match(await text(socket), /^HTTP\/1\.1 400 [^]*problem\+json/);
});

test('a body in another coding than it seems is refused, not read otherwise than it was meant', async () => {
  const zipped = gzipSync(BODY).toString('latin1');
  for (const [path, type] of [
    ['/v1/batches', 'application/json'],
    ['/v1/uploads?lane=releases', 'application/x-ndjson'],
  ] as const)
    for (const coding of ['gzip', 'br', 'identity, gzip'])
      for (const body of [zipped, BODY]) {
        const headers = [`Content-Encoding: ${coding}`, `Content-Length: ${body.length}`];
        const answer = await sent(post(headers, body, { path, type }));
        assert.match(
          answer,
          /^HTTP\/1\.1 415 [^]*header\.content-encoding: expected none/,
          `${path} ${coding}`,
        );
      }
  assert.match(await sent(post(['Content-Encoding: identity', LENGTH], BODY)), /^HTTP\/1\.1 503 /);
  const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
  assert.match(await sent(post(['Transfer-Encoding: chunked'], chunked)), /^HTTP\/1\.1 503 /);
  assert.match(
    await sent(post(['Transfer-Encoding: gzip, chunked'], chunked)),
    /^HTTP\/1\.1 400 [^]*transfer-encoding/,
  );
  assert.match(await sent(post([LENGTH, 'Transfer-Encoding: chunked'], chunked)), /^HTTP\/1\.1 400 /);
});

test('what names the host twice, or by another name in its target, or not at all, is refused', async () => {
  assert.match(await got('/v1/lanes', 'Host: localhost', 'Host: evil.example'), /^HTTP\/1\.1 400 [^]*got 2/);
  assert.match(await got('/v1/lanes', 'Host: localhost', 'Host: localhost'), /^HTTP\/1\.1 400 /);
  assert.match(await got('/v1/lanes'), /^HTTP\/1\.1 400 [^]*problem\+json[^]*header\.host/);
  assert.match(await got('http://evil.example/v1/lanes', 'Host: localhost'), /^HTTP\/1\.1 403 /);
  assert.match(await got('http://localhost/v1/lanes', 'Host: localhost'), /^HTTP\/1\.1 503 /);
});

test('what we would not do is not promised: an expectation of another kind is 417', async () => {
  assert.match(await sent(post(['Expect: a miracle', LENGTH], BODY)), /^HTTP\/1\.1 417 [^]*problem\+json/);
  assert.match(
    await sent(post(['Expect: 100-continue', LENGTH], BODY)),
    /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 503 /,
  );
});

test('every method that a path does not take is 405, with those that it takes', async () => {
  for (const method of METHODS.filter((name) => name !== 'CONNECT' && name !== 'GET' && name !== 'HEAD'))
    for (const type of ['', 'Content-Type: text/plain\r\nContent-Length: 2\r\n']) {
      const request = `${method} /v1/lanes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${type}\r\n`;
      const answer = await sent(type === '' ? request : `${request}{}`);
      assert.match(answer, /^HTTP\/1\.1 405 [^]*allow: GET, HEAD\r\n/i, `${method} ${type}`);
    }
});

test('another media type is told which one is expected', async () => {
  const answer = await sent(post([LENGTH], BODY, { type: 'text/plain' }));
  assert.match(answer, /header\.content-type: expected application\/json, got \\"text\/plain\\"/);
  const upload = await sent(post([LENGTH], BODY, { path: '/v1/uploads?lane=releases' }));
  assert.match(upload, /expected application\/x-ndjson or application\/jsonl, got \\"application\/json\\"/);
});

test('more than a page may hold is 413, be it items or bytes', async () => {
  const many = { items: Array.from({ length: 501 }, () => 1) };
  const long = {
    items: Array.from({ length: 5 }, (_, n) => ({ key: `${n}`, payload: 'x'.repeat(250_000) })),
  };
  for (const held of [many, long]) {
    const body = JSON.stringify({ lane: 'releases', ...held });
    const answer = await sent(post([`Content-Length: ${body.length}`], body));
    assert.match(answer, /^HTTP\/1\.1 413 [^]*items: expected at most/, answer.slice(0, 300));
  }
  const messages = JSON.stringify({ queue: 'releases', messages: many.items });
  const asked = post([`Content-Length: ${messages.length}`], messages, { path: '/queue/publish_batch' });
  assert.match(await sent(asked), /^HTTP\/1\.1 413 /);
});

function post(
  headers: readonly string[],
  body: string,
  { path = '/v1/batches', type = 'application/json' } = {},
): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    'Idempotency-Key: raw',
    `Content-Type: ${type}`,
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

function got(target: string, ...hosts: string[]): Promise<string> {
  return sent([`GET ${target} HTTP/1.1`, ...hosts, 'Connection: close', '', ''].join('\r\n'));
}

/** Sends bytes as they are, and returns all that comes back. */
async function sent(bytes: string): Promise<string> {
  const socket = open();
  socket.write(bytes, 'latin1');
  return await text(socket);
}

function open(): Socket {
  const { port } = new URL(api.url);
  return connect(Number(port), '127.0.0.1');
}
