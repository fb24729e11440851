import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { keysFor, startApi } from '../support/api.ts';
import { useAwayApi } from '../support/api-stage.ts';

// Temporal is away here: a request that is let through is told so (503), and one that isn't, is 403.

const api = useAwayApi();

/** With headers that `fetch` would not let us forge. */
function statusOf(
  headers: Record<string, string>,
  path = '/v1/lanes/releases/pause',
  url = api.url,
): Promise<number> {
  const { port } = new URL(url);
  const method = path.endsWith('pause') ? 'POST' : 'GET';
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end(method === 'POST' ? '{"reason":"a test"}' : undefined);
  });
}

const json = { 'Content-Type': 'application/json' };

test('without keys, a page of another origin cannot make the service do anything', async () => {
  const { host } = new URL(api.url);
  const foreign: Record<string, string>[] = [
    { ...json, Origin: 'https://evil.example' },
    { ...json, Origin: 'null' },
    { ...json, Origin: 'http://127.0.0.1:1' },
    { ...json, Origin: `http://${host}.evil.example` },
    { ...json, 'Sec-Fetch-Site': 'cross-site' },
    { ...json, 'Sec-Fetch-Site': 'same-site' },
    // A form, which a page may send anywhere.
    { 'Content-Type': 'text/plain', Origin: 'https://evil.example' },
    { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'https://evil.example' },
    // A name of theirs that points to this machine.
    { ...json, Host: 'evil.example' },
    { ...json, Host: 'localhost.evil.example' },
    { ...json, Host: '127.0.0.1.evil.example:80' },
    { ...json, Host: 'evil.example@127.0.0.1' },
  ];
  for (const headers of foreign) assert.equal(await statusOf(headers), 403, JSON.stringify(headers));
  for (const headers of foreign)
    assert.equal(await statusOf(headers, '/v1/lanes'), 403, JSON.stringify(headers));
});

test('without keys, our own page, and whoever is no browser, are let through', async () => {
  const { host, port } = new URL(api.url);
  for (const headers of [
    json,
    { ...json, Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-origin' },
    { ...json, Host: `localhost:${port}`, Origin: `http://localhost:${port}` },
    { ...json, Host: '[::1]:9000' },
    { ...json, 'Sec-Fetch-Site': 'none' },
  ])
    assert.equal(await statusOf(headers), 503, JSON.stringify(headers));
});

test('no answer allows a page of another origin to read it', async () => {
  for (const path of ['/openapi.json', '/healthz', '/v1/lanes']) {
    const { headers } = await fetch(api.url + path, { headers: { Origin: api.url } });
    assert.equal(headers.get('access-control-allow-origin'), null, path);
  }
});

test('with keys, it is the key that counts: a page of another origin has none', async () => {
  const keys = await keysFor({ ci: { scopes: ['operate'], lanes: 'all' } });
  const guarded = await startApi(api.client, { keys: keys.ring });
  try {
    const foreign = { ...json, Host: 'onelane.example', Origin: 'https://evil.example' };
    const path = '/v1/lanes/releases/pause';
    assert.equal(await statusOf(foreign, path, guarded.url), 401);
    const behindProxy = { ...json, Host: 'onelane.example', ...keys.bearer('ci') };
    assert.equal(await statusOf(behindProxy, path, guarded.url), 503);
  } finally {
    await guarded.close();
    await keys.remove();
  }
});
