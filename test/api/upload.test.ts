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
