import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { z } from 'zod';
import { PROBLEM_TYPE } from '../../src/api/problems.ts';
import { ask } from '../support/api.ts';
import { useApi } from '../support/api-stage.ts';
import { withLane } from '../support/scene.ts';

const RUNS = 400;

const api = useApi({ laneDesk: true });

const DocumentSchema = z.object({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.object({ responses: z.record(z.string(), z.unknown()) })),
  ),
});

/** Often nearly right, so that it gets behind the first check. */
const name = fc.oneof(
  fc.constantFrom('fuzz', 'fuzz:a', 'nowhere', '.', 'batch/x'),
  fc.string(),
  fc.string({ unit: 'binary' }),
);
const item = fc.oneof(
  fc.record({ key: name, payload: fc.jsonValue() }, { requiredKeys: [] }),
  fc.record({
    key: name,
    payload: fc.jsonValue(),
    version: fc.jsonValue(),
    notBefore: name,
    priority: fc.integer(),
  }),
  fc.jsonValue(),
);
const body = fc.oneof(
  fc.record({ lane: fc.constant('fuzz'), items: fc.array(item, { minLength: 1, maxLength: 3 }) }),
  fc.record({
    queue: fc.constant('fuzz'),
    messages: fc.array(fc.record({ body: item }), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ reason: fc.string() }),
  fc.record({
    reason: name,
    requests: fc.jsonValue(),
    upstreamId: fc.jsonValue(),
    acceptRisk: fc.jsonValue(),
  }),
  fc.jsonValue(),
);
const header = fc.oneof(
  fc.constantFrom('fuzz', '"fuzz 2"'),
  fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,40}$/),
);
const query = fc.oneof(
  fc.constantFrom('', '?wait=0s', '?page=0', '?lane=fuzz'),
  fc.webQueryParameters().map((text) => `?${text}`),
);

test('whatever is asked, the answer is one that is documented, and never a failure of the service itself', async () => {
  const file = fileURLToPath(new URL('../../docs/openapi.json', import.meta.url));
  const { paths } = DocumentSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => ({
      path,
      method,
      statuses: Object.keys(responses),
    })),
  );
  assert.ok(operations.length > 15);
  const asked = fc.record({ operation: fc.constantFrom(...operations), name, query, header, body });
  await withLane(api.stage, 'fuzz', {}, async () => {
    await fc.assert(
      fc.asyncProperty(asked, async ({ operation: { path, method, statuses }, ...given }) => {
        const filled = path.replace(/\{\w+\}/, encodeURIComponent(wellFormed(given.name)));
        const isUpload = path === '/v1/uploads';
        const answered = await ask(api.url, filled + given.query, {
          method: method.toUpperCase(),
          headers: {
            'Idempotency-Key': given.header,
            ...(isUpload ? { 'Content-Type': 'application/x-ndjson' } : {}),
          },
          ...(method === 'post' ? { body: JSON.stringify(given.body) } : {}),
        });
        // An empty name leads to another path, or to none.
        const documented = [
          ...statuses,
          ...(given.name === '' || /^\.{1,2}$/.test(given.name) ? ['404', '405'] : []),
        ];
        assert.ok(documented.includes(String(answered.status)), `${answered.status}: ${answered.text}`);
        assert.ok(answered.status < 500, answered.text);
        const type = answered.headers.get('content-type') ?? '';
        assert.ok(answered.status < 400 ? type.startsWith('application/json') : type === PROBLEM_TYPE, type);
      }),
      { numRuns: RUNS },
    );
    assert.deepEqual(api.said, []);
  });
});

/** No URL carries half of a character. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
