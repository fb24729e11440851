import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ask, awayClient, openApiText, startApi } from '../support/api.ts';

test('docs/openapi.json is what the routes say; if not, run: npm run openapi', async () => {
  const file = fileURLToPath(new URL('../../docs/openapi.json', import.meta.url));
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), JSON.parse(await openApiText()));
});

test('the document and a page to read it are served, and the page takes nothing from elsewhere', async () => {
  const client = await awayClient();
  const api = await startApi(client);
  try {
    const served = await ask(api.url, '/openapi.json');
    assert.deepEqual(JSON.parse(served.text), JSON.parse(await openApiText()));
    const page = await ask(api.url, '/docs/');
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'self'/);
    const sources = [...page.text.matchAll(/(?:src|href)="(?<source>[^"]+)"/g)];
    assert.ok(sources.length > 3);
    for (const { groups } of sources) {
      const source = new URL(groups?.['source'] ?? '', `${api.url}/docs/`);
      assert.equal(source.origin, api.url);
      assert.equal((await ask(api.url, source.pathname)).status, 200, source.href);
    }
  } finally {
    await api.close();
    await client.connection.close();
  }
});
