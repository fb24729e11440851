import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { setTimeout as sleep } from 'node:timers/promises';
import getPort from 'get-port';
import { endsCallsWhenClosed } from '../../closed-calls.ts';
import { ensureSearchAttributes } from '../../search-attributes.ts';
import { findTemporalCli, type FindOptions, type FoundBinary } from './find.ts';
import { spawnSupervised, type Supervised } from './supervisor.ts';

export interface DevServerOptions extends FindOptions {
  /** the CLI to be used, where it was found before */
  readonly binary?: FoundBinary;
  /** SQLite file that keeps everything across runs; in memory when there is none */
  readonly dbFile?: string;
  /** of 127.0.0.1, for gRPC; a free one by default */
  readonly port?: number;
  /** of 127.0.0.1, for the Web UI; a free one by default */
  readonly uiPort?: number;
  /** without the Web UI; true unless `uiPort` is given */
  readonly headless?: boolean;
  /** `default` by default */
  readonly namespace?: string;
  /** takes all that the server writes, appended */
  readonly logFile?: string;
  /**
   * Of each task queue; 1 by default, where the server's own default is 4. A lane's single slot waits on one partition
   * at a time, so that more of them leave gaps and break the order.
   */
  readonly partitions?: number;
  /** settings of the server itself, e.g. `limit.historyCount.suggestContinueAsNew` */
  readonly dynamicConfig?: { readonly [name: string]: number };
}

export interface DevServer {
  /** host:port of the gRPC service */
  readonly address: string;
  /** URL of the Web UI, or null */
  readonly ui: string | null;
  readonly namespace: string;
  readonly retentionMs: number;
  readonly binary: FoundBinary;
  /** resolves when the server has ended, asked or not, with a sentence about how */
  readonly ended: Promise<string>;
  /** the last lines that the server wrote, joined by ` | ` */
  lastLines(count: number): string;
  /** Ends it; resolves when all its processes are gone. May be called again. */
  stop(): Promise<void>;
  /** Ends it as a crash would, with SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

/** The server died, or was not ready in time. The message has its own last lines. */
export class DevServerError extends Error {
  override readonly name = 'DevServerError';
}

/** Retention is the deduplication window: as long as a closed item is kept, its key is taken. The server's own is a day. */
export const RETENTION_MS = 30 * 24 * 3_600_000;

const HOST = '127.0.0.1';

/** Up in about one second; a busy machine, or a large file to open, takes longer. */
const READY_TIMEOUT_MS = 60_000;

/** A free port may be taken by another process between finding it and using it. Three times in a row it is not chance. */
const PORT_TRIES = 3;

/**
 * Starts Temporal's dev server, and returns when workflows can be started, listed and found by our search attributes.
 * Without options it is private: in memory, on free ports, headless. It ends when this process does, however that ends.
 *
 * @throws TemporalNotFoundError, DevServerError
 */
export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const binary = options.binary ?? (await findTemporalCli(options));
  for (let tries = 1; ; tries++) {
    try {
      return await startOnce(binary, options);
    } catch (error) {
      const chosenByUs = options.port === undefined || (withUi(options) && options.uiPort === undefined);
      const portTaken = error instanceof DevServerError && /address already in use/i.test(error.message);
      if (!portTaken || !chosenByUs || tries === PORT_TRIES) throw error;
    }
  }
}

async function startOnce(binary: FoundBinary, options: DevServerOptions): Promise<DevServer> {
  const namespace = options.namespace ?? 'default';
  const port = options.port ?? (await freePort());
  const uiPort = withUi(options) ? (options.uiPort ?? (await freePort())) : null;
  const address = `${HOST}:${port}`;
  const args = devServerArguments({
    port,
    uiPort,
    namespace,
    dbFile: options.dbFile,
    partitions: options.partitions ?? 1,
    dynamicConfig: options.dynamicConfig ?? {},
  });

  const server = spawnSupervised([binary.path, ...args], options.logFile);
  try {
    await prepare(server, address, namespace);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    address,
    ui: uiPort === null ? null : `http://${HOST}:${uiPort}`,
    namespace,
    retentionMs: RETENTION_MS,
    binary,
    ended: server.ended,
    lastLines: (count) => server.lastLines(count),
    stop: () => server.stop(),
    kill: () => server.kill(),
  };
}

function withUi(options: DevServerOptions): boolean {
  return !(options.headless ?? options.uiPort === undefined);
}

function freePort(): Promise<number> {
  return getPort({ host: HOST, reserve: true });
}

interface Arguments {
  readonly port: number;
  readonly uiPort: number | null;
  readonly namespace: string;
  readonly dbFile: string | undefined;
  readonly partitions: number;
  readonly dynamicConfig: { readonly [name: string]: number };
}

/**
 * What is committed outlives a kill of the server; a power cut may cost the last of it. By SQLite's defaults, which exclude
 * that, too, a batch of 200 takes half a minute to admit instead of seven seconds.
 */
const FILE_PRAGMAS = ['journal_mode=WAL', 'synchronous=NORMAL'];

function devServerArguments({ port, uiPort, namespace, dbFile, ...settings }: Arguments): string[] {
  const args = ['server', 'start-dev', '--ip', HOST, '--port', String(port), '--namespace', namespace];
  args.push('--log-level', 'warn', ...partitionFlags(settings.partitions));
  for (const [name, value] of Object.entries(settings.dynamicConfig))
    args.push('--dynamic-config-value', `${name}=${value}`);
  args.push(...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]));
  if (dbFile !== undefined)
    args.push('--db-filename', dbFile, ...FILE_PRAGMAS.flatMap((pragma) => ['--sqlite-pragma', pragma]));
  return args;
}

/** The flags that split each task queue into so many partitions. docker-compose.yml has them, too. */
export function partitionFlags(partitions: number): string[] {
  return ['Read', 'Write'].flatMap((side) => [
    '--dynamic-config-value',
    `matching.numTaskqueue${side}Partitions=${partitions}`,
  ]);
}

/** Waits until the server answers, and sets what its command line cannot. */
async function prepare(server: Supervised, address: string, namespace: string): Promise<void> {
  const connection = await untilReady(server, () =>
    Connection.connect({ address, connectTimeout: '1s', plugins: [endsCallsWhenClosed] }),
  );
  try {
    const client = new Client({ connection, namespace });
    // The namespace is registered shortly after the server has begun to answer.
    await untilReady(server, () => client.workflow.count());
    await connection.workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl: msToTs(RETENTION_MS) },
    });
    await ensureSearchAttributes(connection, namespace);
  } finally {
    await connection.close();
  }
  // Somebody else's server may have answered at our address, while ours found the port taken.
  if (server.hasEnded()) throw await deathOf(server);
}

async function untilReady<T>(server: Supervised, attempt: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    if (server.hasEnded()) throw await deathOf(server);
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > giveUpAt) throw notReady(server, error);
      await sleep(50);
    }
  }
}

async function deathOf(server: Supervised): Promise<DevServerError> {
  return new DevServerError(`The Temporal dev server died (${await server.ended}): ${server.lastLines(5)}`);
}

function notReady(server: Supervised, lastError: unknown): DevServerError {
  const reason = lastError instanceof Error ? lastError.message : String(lastError);
  const seconds = READY_TIMEOUT_MS / 1000;
  return new DevServerError(
    `The Temporal dev server was not ready after ${seconds} s (${reason}): ${server.lastLines(5)}`,
  );
}
