import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { awayClient, startApi } from '../support/api.ts';
import { GIVE_UP_AFTER_MS } from '../support/wait.ts';

const UNFINISHED = [
  'POST /v1/uploads?lane=releases HTTP/1.1',
  'Host: localhost',
  'Idempotency-Key: drip',
  'Content-Type: application/x-ndjson',
  'Content-Length: 1000000',
  'Expect: 100-continue',
];

test('a request that never comes to its end does not keep the service from stopping', async () => {
  const client = await awayClient();
  const api = await startApi(client);
  const { port } = new URL(api.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`${UNFINISHED.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  const dripping = setInterval(() => socket.write(' '), 100);
  try {
    const gaveUp = new AbortController();
    const stopped = api.close().then(() => 'stopped');
    const waited = sleep(GIVE_UP_AFTER_MS, 'waited in vain', { signal: gaveUp.signal }).catch(() => '');
    assert.equal(await Promise.race([stopped, waited]), 'stopped');
    gaveUp.abort();
  } finally {
    clearInterval(dripping);
    socket.destroy();
    await client.connection.close();
  }
});
