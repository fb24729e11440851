import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ndjsonItems } from '../client/ndjson.ts';
import { ProblemError } from './problems.ts';

/** Thousands of times what a page holds; whoever has more has several batches. */
export const MAX_UPLOAD_BYTES = 1024 * 1024 * 1024;

/**
 * Takes a body in, all of it, before anything of it is used: of one that is cut off nothing is published. It is kept in
 * a file, not in memory, and read from there as often as needed.
 *
 * @throws ProblemError when it is too large, or there is no room for it here
 */
export async function withUpload<T>(
  body: Readable,
  use: (items: () => AsyncIterable<unknown>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'onelane-upload-'));
  try {
    const file = join(folder, 'items.ndjson');
    await pipeline(body, atMost(MAX_UPLOAD_BYTES), createWriteStream(file)).catch((error: unknown) => {
      throw isFull(error) ? noRoom() : error;
    });
    return await use(() => ndjsonItems(createReadStream(file)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

function noRoom(): ProblemError {
  const detail = 'no room is left on the disk of this service; nothing of the upload was used';
  return new ProblemError('away', detail, { headers: { 'Retry-After': '60' } });
}

function atMost(most: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > most) done(new ProblemError('too-large', `body: expected at most ${most} bytes`));
      else done(null, chunk);
    },
  });
}
