import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { ProblemError } from '../../src/api/problems.ts';
import { withUpload } from '../../src/api/upload.ts';

test('an upload for which there is no room is 503, to be sent again, and nothing of it is used', async () => {
  for (const code of ['ENOSPC', 'EDQUOT']) {
    // As the file would say it, which a test can't fill.
    const full = new Readable({ read: () => full.destroy(Object.assign(new Error('write'), { code })) });
    await assert.rejects(
      withUpload(full, () => assert.fail('it was used')),
      (error: unknown) =>
        error instanceof ProblemError && error.status === 503 && error.headers['Retry-After'] === '60',
    );
  }
});

test('an upload is read as often as needed', async () => {
  const lines = Array.from({ length: 5_000 }, (_, n) => ({ key: `item:${n}`, payload: n }));
  const body = Readable.from(lines.map((line) => Buffer.from(`${JSON.stringify(line)}\n`)));
  await withUpload(body, async (items) => {
    for (const time of ['first', 'second', 'third']) {
      let read = 0;
      for await (const item of items()) assert.deepEqual(item, lines[read++], time);
      assert.equal(read, lines.length, time);
    }
    // Whoever has seen enough stops early.
    for await (const item of items()) {
      assert.deepEqual(item, lines[0]);
      break;
    }
  });
});
