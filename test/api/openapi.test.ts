import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { z } from 'zod';
import { BatchIdHeaderSchema } from '../../src/api/batch-id.ts';
import { BatchParamsSchema, ItemKeySchema, LaneSchema } from '../../src/api/routes/context.ts';
import { ask, awayClient, noKeys, openApiText, startApi } from '../support/api.ts';

test('docs/openapi.json is what the routes say; if not, run: npm run openapi', async () => {
  const file = fileURLToPath(new URL('../../docs/openapi.json', import.meta.url));
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), JSON.parse(await openApiText()));
});

test('the document and a page to read it are served, and the page takes nothing from elsewhere', async () => {
  const client = await awayClient();
  const api = await startApi(client, { keys: noKeys() });
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

test('the document asks for a key where the service does: where none is configured, it goes without', async () => {
  const client = await awayClient();
  for (const [keys, expected] of [
    [noKeys(), [{ key: [] }]],
    [null, [{}, { key: [] }]],
  ] as const) {
    const api = await startApi(client, { keys });
    try {
      const { paths } = SecuredSchema.parse(JSON.parse((await ask(api.url, '/openapi.json')).text));
      assert.deepEqual(paths['/v1/lanes']?.['get']?.security, expected);
      assert.equal(paths['/healthz']?.['get']?.security, undefined);
      assert.equal((await ask(api.url, '/v1/lanes')).status, keys === null ? 503 : 401);
    } finally {
      await api.close();
    }
  }
  await client.connection.close();
});

const SecuredSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ security: z.array(z.unknown()).optional() }))),
});

const TextSchema = z.object({ pattern: z.string(), minLength: z.int(), maxLength: z.int() });
const OperationSchema = z.object({ parameters: z.array(z.unknown()).default([]) });
const DocumentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), OperationSchema)),
});

/** The schema that the document has for a parameter. */
async function documented(path: string, method: string, name: string) {
  const { paths } = DocumentSchema.parse(JSON.parse(await openApiText()));
  const NamedSchema = z.object({ name: z.literal(name), schema: TextSchema });
  const parameters = paths[path]?.[method]?.parameters ?? [];
  const found = parameters
    .map((parameter) => NamedSchema.safeParse(parameter))
    .find(({ success }) => success);
  assert.ok(found?.data, `${name} of ${method} ${path}`);
  return found.data.schema;
}

/** Made of what one check or another is about, so that most are nearly right. */
const hostile = fc.oneof(
  fc
    .array(
      fc.oneof(
        fc.constantFrom(' ', '.', '/', '"', '\\', "'", '\n', '\r\n', '\t', '\u007f', 'ü', '\ud83d', '😀'),
        fc.constantFrom('a', 'batch', 'lane', 'reconcile', 'schedule', 'release:a:1'),
        fc.constantFrom(198, 199, 200, 253, 254, 255).map((length) => 'x'.repeat(length)),
      ),
      { maxLength: 4 },
    )
    .map((parts) => parts.join('')),
  fc.string({ unit: 'binary' }),
  fc.string().map((text) => `"${text}"`),
);

for (const [path, method, name, parser] of [
  ['/v1/items/{key}', 'get', 'key', ItemKeySchema],
  ['/v1/items/{key}/discard', 'post', 'key', ItemKeySchema],
  ['/v1/batches/{id}', 'get', 'id', BatchParamsSchema.shape.id],
  ['/v1/batches', 'post', 'idempotency-key', BatchIdHeaderSchema],
  ['/v1/uploads', 'post', 'lane', LaneSchema],
] as const)
  test(`by the document, ${name} of ${method.toUpperCase()} ${path} is just what the service takes`, async () => {
    const { pattern, minLength, maxLength } = await documented(path, method, name);
    // As JSON Schema has it: ECMA-262, with whole characters, and it may match anywhere.
    const documentedAs = new RegExp(pattern, 'u');
    const takes = { yes: 0, no: 0 };
    fc.assert(
      fc.property(hostile, (text) => {
        const taken = parser.safeParse(text).success;
        takes[taken ? 'yes' : 'no']++;
        const { length } = text;
        assert.equal(documentedAs.test(text), taken, 'pattern');
        assert.ok(!taken || (length >= minLength && length <= maxLength), 'lengths');
      }),
      { numRuns: 5_000 },
    );
    assert.ok(takes.yes > 100 && takes.no > 100, `taken and not: ${JSON.stringify(takes)}`);
  });
