import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * Makes this process the only one that opens a database file, and clears away the lock of one that was killed.
 *
 * The database library locks by making the folder `<file>.lock`, which outlives a SIGKILL and says nothing of
 * its owner. Whether an owner lives is asked of the kernel instead: the owner listens on a local socket that is
 * named after the file, and nobody listens for a dead process. (A process ID in a file would be taken for
 * alive when it was given out again, or while its process is a zombie.) Not told apart: two that start in the
 * same instant over a killed one's file, and two containers that share a volume.
 *
 * @returns gives the file back; to be called once the database is closed
 * @throws Error when somebody has the file
 */
export async function ownFile(file: string): Promise<() => Promise<void>> {
  const path = join(realpathSync(dirname(resolve(file))), basename(file));
  const socket = socketOf(path);
  if (await isListening(socket)) {
    throw new Error(`${file}: expected a database file that nobody has open, but another upstream has it`);
  }
  rmSync(socket, { force: true });
  const owner = createServer((connection) => connection.destroy());
  owner.listen(socket);
  await once(owner, 'listening');
  if (existsSync(`${path}.lock`)) rmdirSync(`${path}.lock`);
  return () => closed(owner);
}

/** Hashed, since a socket's path may have 103 bytes at most. */
function socketOf(path: string): string {
  const name = createHash('sha256').update(path).digest('hex').slice(0, 32);
  return join(tmpdir(), `onelane-${name}.sock`);
}

async function isListening(socket: string): Promise<boolean> {
  const connection = connect(socket);
  try {
    await once(connection, 'connect');
    return true;
  } catch {
    // ENOENT: nobody ever, or closed in order. ECONNREFUSED: its process died.
    return false;
  } finally {
    connection.destroy();
  }
}

async function closed(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}
