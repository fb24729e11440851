import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpathSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * Makes this process the only one that uses a file, until it gives it back or ends, however that happens.
 *
 * Whether an owner lives is asked of the kernel: the owner listens on a local socket that is named after the file,
 * and nobody listens for a dead process. (A process ID in a file would be taken for alive when it was given out
 * again, or while its process is a zombie.) Not told apart: two that start in the same instant over a killed one's
 * file, and two containers that share a volume.
 *
 * @param taken what is wrong when somebody has the file, e.g. `another upstream has it open`
 * @returns gives the file back; to be called once it is closed
 * @throws Error when somebody has the file, or its folder is not there
 */
export async function ownFile(file: string, taken: string): Promise<() => Promise<void>> {
  const socket = socketOf(join(realpathSync(dirname(resolve(file))), basename(file)));
  if (await isListening(socket)) throw new Error(`${file}: ${taken}`);
  rmSync(socket, { force: true });
  const owner = createServer((connection) => connection.destroy());
  owner.listen(socket);
  await once(owner, 'listening');
  // Owning a file is no reason to stay.
  owner.unref();
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
