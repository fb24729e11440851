import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ndjsonItems } from '../client/ndjson.ts';
import { ProblemError } from './problems.ts';

/** Thousands of times what a page holds; whoever has more has several batches. */
export const MAX_UPLOAD_BYTES = 1024 * 1024 * 1024;

/** What the streams of Node read at a time. */
const READ_BYTES = 64 * 1024;

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
  const file = await openNameless();
  try {
    const keep = (bytes: AsyncIterable<Buffer>): Promise<void> => writeFile(file, bytes);
    await pipeline(body, atMost(MAX_UPLOAD_BYTES), keep).catch((error: unknown) => {
      throw isFull(error) ? noRoom() : error;
    });
    return await use(() => ndjsonItems(bytesOf(file)));
  } finally {
    await file.close();
  }
}

/** A file that is gone when it is closed, and also when this process is killed. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `onelane-upload-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

/** From its beginning. Not by a stream: one that is left early may still read when the file is closed. */
async function* bytesOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ;) {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(READ_BYTES), position });
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
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
