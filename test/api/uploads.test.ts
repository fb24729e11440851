import assert from 'node:assert/strict';
import { readdir, readlink } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { batchReport } from '../../src/client.ts';
import { BatchItemsSchema, UploadedSchema } from '../../src/api/batch-answers.ts';
import { ask } from '../support/api.ts';
import { useApi } from '../support/api-stage.ts';
import { withLane } from '../support/scene.ts';
import { eventually, until } from '../support/wait.ts';

const api = useApi();

function upload(batchId: string, lane: string, body: string, type = 'application/x-ndjson') {
  return ask(api.url, `/v1/uploads?lane=${lane}`, {
    body,
    headers: { 'Idempotency-Key': batchId, 'Content-Type': type },
  });
}

test('an upload of several pages is durable when it is answered, and the same upload again tells what became of it', async () => {
  await withLane(api.stage, 'upload', { open: false }, async () => {
    // Five of them fill a page.
    const text = 'x'.repeat(200_000);
    const lines = Array.from({ length: 7 }, (_, n) =>
      JSON.stringify({ key: `upload:${n}`, payload: { n, text } }),
    );
    lines[2] = '{"key": "upload:2", "payload": ';
    const body = `${lines.join('\n')}\n`;
    const taken = await upload('upload', 'upload', body);
    assert.equal(taken.status, 202, taken.text);
    const { pages, total } = taken.as(UploadedSchema);
    assert.deepEqual([pages, total], [2, 7]);
    assert.equal(taken.headers.get('location'), '/v1/batches/upload');

    const report = await eventually('both pages are admitted', async () => {
      const { counts, ...rest } = await batchReport(api.stage.client, 'upload');
      return counts.pending === 0 ? { counts, ...rest } : undefined;
    });
    assert.deepEqual([report.counts.accepted, report.counts.rejected, report.addsUp], [6, 1, true]);
    const second = (await ask(api.url, '/v1/batches/upload/items?page=1')).as(BatchItemsSchema);
    assert.deepEqual([second.pages, second.items[0]?.key], [2, 'upload:6']);

    const other = await upload('upload', 'upload', body.replace('upload:6', 'upload:other'));
    assert.equal(other.problem().type, 'urn:onelane:problem:batch-id-taken');
  });
});

test('of an upload that is cut off nothing is published, and nothing is left behind', async () => {
  await withLane(api.stage, 'cut', {}, async () => {
    const { port } = new URL(api.url);
    const headers = {
      'Content-Type': 'application/x-ndjson',
      'Idempotency-Key': 'cut',
      'Content-Length': String(10_000_000),
    };
    const inAdvance = await openUploads();
    const sent = request({ host: '127.0.0.1', port, method: 'POST', path: '/v1/uploads?lane=cut', headers });
    sent.on('error', () => {});
    sent.write(`${JSON.stringify({ key: 'cut:a', payload: 1 })}\n`.repeat(1_000));
    await until('it is being taken in', async () => (await openUploads()).length > inAdvance.length);
    assert.deepEqual(await leftovers(), [], 'nothing would be left of a service that is killed now');
    sent.destroy();
    await until('it is cleared away', async () => (await openUploads()).length === inAdvance.length);
    assert.equal((await ask(api.url, '/v1/batches/cut')).status, 404);
    assert.equal((await ask(api.url, '/healthz')).status, 200);
  });
});

test('what is no NDJSON is refused as a whole, and nothing of it is published', async () => {
  const item = JSON.stringify({ key: 'bad:a', payload: 1 });
  for (const [body, status] of [
    ['', 422],
    ['\n\n', 422],
    [`${item}\n${'x'.repeat(65 * 1024 * 1024)}`, 400],
  ] as const) {
    const refused = await upload('bad', 'bad', body);
    assert.equal(refused.problem().status, status, refused.text);
  }
  const notUtf8 = await fetch(`${api.url}/v1/uploads?lane=bad`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': 'bad' },
    body: Buffer.concat([Buffer.from(`${item}\n`), Buffer.from([0xff, 0xfe, 0x0a])]),
  });
  assert.equal(notUtf8.status, 400, await notUtf8.text());
  assert.equal((await upload('bad', 'bad', item, 'application/json')).status, 415);
  assert.equal((await ask(api.url, '/v1/batches/bad')).status, 404);
});

async function leftovers(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith('onelane-upload-'));
}

/** What this process has open of uploads, by the list that Linux keeps. */
async function openUploads(): Promise<string[]> {
  const folder = '/proc/self/fd';
  const paths = (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => 'closed since'));
  return (await Promise.all(paths)).filter((path) => path.includes('onelane-upload-'));
}
