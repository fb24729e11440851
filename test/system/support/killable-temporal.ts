import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import getPort from 'get-port';
import { partitionFlags } from '../../../src/dev/temporal/dev-server.ts';
import { findTemporalCli } from '../../../src/dev/temporal/find.ts';
import { ensureSearchAttributes } from '../../../src/search-attributes.ts';
import { Process } from './process.ts';
import type { Temporal } from './temporal.ts';
import { until } from './until.ts';

/**
 * A dev server that can be killed with SIGKILL, which `startDevServer` takes care not to let happen: it runs without
 * a supervisor above it.
 */
export class KillableTemporal implements Temporal {
  readonly client: Client;
  readonly #folder: string;
  readonly #port: number;
  readonly #server: Process;

  private constructor(client: Client, folder: string, port: number, server: Process) {
    this.client = client;
    this.#folder = folder;
    this.#port = port;
    this.#server = server;
  }

  static async start(): Promise<KillableTemporal> {
    const folder = await mkdtemp(join(tmpdir(), 'onelane-system-temporal-'));
    const port = await getPort({ host: '127.0.0.1', reserve: true });
    const { path } = await findTemporalCli();
    const args = ['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)];
    args.push('--db-filename', fileIn(folder), '--log-level', 'warn', ...partitionFlags(1));
    const server = new Process('temporal', path, args, { cwd: folder });
    const connection = await connected(`127.0.0.1:${port}`);
    await ensureSearchAttributes(connection, 'default');
    return new KillableTemporal(new Client({ connection }), folder, port, server);
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Where the next server goes on. */
  get place(): { port: number; dbFile: string } {
    return { port: this.#port, dbFile: fileIn(this.#folder) };
  }

  async kill(): Promise<void> {
    await this.#server.end('SIGKILL');
  }

  async end(): Promise<void> {
    await this.client.connection.close();
    await this.kill();
    await rm(this.#folder, { recursive: true });
  }
}

function fileIn(folder: string): string {
  return join(folder, 'temporal.db');
}

/** A connection, once the server answers and has registered its namespace. */
async function connected(address: string): Promise<Connection> {
  let connection: Connection | undefined;
  await until('Temporal answers', async () => {
    try {
      connection ??= await Connection.connect({ address, connectTimeout: '1s' });
      await new Client({ connection }).workflow.count();
      return true;
    } catch {
      return false;
    }
  });
  if (connection === undefined) throw new Error(`no connection to ${address}`);
  return connection;
}
