import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { z } from 'zod';
import { endsCallsWhenClosed } from '../../closed-calls.ts';

/** Everything that `onelane dev` keeps lives in this folder, below the one in which it was started. */
export const DEV_FOLDER = '.onelane';

const devFileSchema = z.object({
  pid: z.int().positive(),
  address: z.string().min(1),
  ui: z.string().min(1),
});

/** What `onelane dev` leaves in `.onelane/dev.json` for as long as it runs: its process, host:port, and Web UI's URL. */
export type DevFile = z.infer<typeof devFileSchema>;

export function devFilePath(folder: string): string {
  return join(folder, DEV_FOLDER, 'dev.json');
}

/** @returns undefined when there is none, or none that can be read */
export async function readDevFile(folder: string): Promise<DevFile | undefined> {
  try {
    return devFileSchema.parse(JSON.parse(await readFile(devFilePath(folder), 'utf8')));
  } catch {
    return undefined;
  }
}

/**
 * Writes the file if there is none. Of two that do so at once, one succeeds, and nobody ever reads half a file.
 *
 * @returns false when there was one
 */
export async function claimDevFile(folder: string, content: DevFile): Promise<boolean> {
  const path = devFilePath(folder);
  const draft = `${path}.${content.pid}`;
  await mkdir(join(folder, DEV_FOLDER), { recursive: true });
  await writeFile(draft, `${JSON.stringify(content)}\n`);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

export async function removeDevFile(folder: string): Promise<void> {
  await rm(devFilePath(folder), { force: true });
}

export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is alive, and somebody else's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Whether a Temporal server answers at an address, within a second. */
export async function answers(address: string): Promise<boolean> {
  try {
    const connection = await Connection.connect({
      address,
      connectTimeout: '1s',
      plugins: [endsCallsWhenClosed],
    });
    await connection.close();
    return true;
  } catch {
    return false;
  }
}
