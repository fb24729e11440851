import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import {
  answers,
  claimDevFile,
  DEV_FOLDER,
  type DevFile,
  isProcessAlive,
  readDevFile,
  removeDevFile,
} from '../dev/temporal/dev-file.ts';
import { DevServerError, startDevServer } from '../dev/temporal/dev-server.ts';
import { describe, findTemporalCli, type FoundBinary, TemporalNotFoundError } from '../dev/temporal/find.ts';
import { CliError, EXIT } from './exit.ts';
import { nextSignal } from './signals.ts';

const HOST = '127.0.0.1';
const DEFAULT_PORT = 7233;
/** The distance that the Temporal CLI has between its two ports. */
const UI_PORT_DISTANCE = 1000;

/** An `onelane dev` that has just begun needs a second to answer; a server whose `onelane dev` was killed, some to end. */
const SETTLE_TIMEOUT_MS = 10_000;

const DAY_MS = 24 * 3_600_000;

interface DevOptions {
  readonly port: number;
  readonly uiPort?: number;
  readonly json?: boolean;
}

/** `onelane dev`: Temporal's dev server with its Web UI, kept in a SQLite file of this folder. */
export function devCommand(): Command {
  return new Command('dev')
    .description(`run a Temporal dev server with Web UI, kept in ${DEV_FOLDER}/ of this folder, until Ctrl-C`)
    .option('--port <port>', 'port for Temporal', parsePort, DEFAULT_PORT)
    .option('--ui-port <port>', `port for the Web UI (default: ${UI_PORT_DISTANCE} above --port)`, parsePort)
    .option('--json', 'print JSON lines')
    .action((options: DevOptions) => runDev(options, process.cwd()));
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new InvalidArgumentError('expected a port, 1 to 65535');
  return port;
}

async function runDev(options: DevOptions, folder: string): Promise<void> {
  const say = options.json ? sayJson : sayText;
  const uiPort = options.uiPort ?? options.port + UI_PORT_DISTANCE;
  try {
    // First, while Ctrl-C still ends everything at once: fetching it may take minutes.
    const binary = await findTemporalCli();
    const mine = { pid: process.pid, address: `${HOST}:${options.port}`, ui: `http://${HOST}:${uiPort}` };
    const claim = await claimFolder(folder, mine);
    if (claim.kind === 'running') {
      say({ event: 'running', ...claim.other, env: envLine(claim.other.address) });
      return;
    }
    say({
      event: 'binary',
      path: binary.path,
      source: binary.source,
      version: binary.version,
      line: describe(binary),
    });
    try {
      const asked = nextSignal();
      const settleMs = claim.afterKilled ? SETTLE_TIMEOUT_MS : 0;
      await untilFree('--port', options.port, settleMs);
      await untilFree('--ui-port', uiPort, settleMs);
      await serve({ binary, port: options.port, uiPort }, folder, say, asked);
    } finally {
      await removeDevFile(folder);
    }
  } catch (error) {
    if (error instanceof TemporalNotFoundError || error instanceof DevServerError)
      throw new CliError(EXIT.unreachable, error.message);
    throw error;
  }
}

type Claim =
  | { readonly kind: 'running'; readonly other: DevFile }
  /** afterKilled: there was one here that was killed, and its server may need a moment to end */
  | { readonly kind: 'ours'; readonly afterKilled: boolean };

async function claimFolder(folder: string, mine: DevFile): Promise<Claim> {
  const giveUpAt = performance.now() + SETTLE_TIMEOUT_MS;
  for (let afterKilled = false; ;) {
    if (await claimDevFile(folder, mine)) return { kind: 'ours', afterKilled };
    const other = await readDevFile(folder);
    const alive = other !== undefined && isProcessAlive(other.pid);
    if (alive && (await answers(other.address))) return { kind: 'running', other };
    if (alive && performance.now() < giveUpAt) {
      await sleep(200);
    } else {
      // Its process is gone; or the number is another program's by now, since nothing answers.
      await removeDevFile(folder);
      afterKilled = true;
    }
  }
}

async function untilFree(option: string, port: number, settleMs: number): Promise<void> {
  const giveUpAt = performance.now() + settleMs;
  while (!(await isFree(port))) {
    if (performance.now() >= giveUpAt)
      throw new CliError(
        EXIT.usage,
        `Port ${port} on ${HOST} is used by something else. Stop that, or choose another with ${option}.`,
      );
    await sleep(200);
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, HOST, () => server.close(() => resolve(true)));
  });
}

interface ServeOptions {
  readonly binary: FoundBinary;
  readonly port: number;
  readonly uiPort: number;
}

async function serve(
  options: ServeOptions,
  folder: string,
  say: Say,
  asked: Promise<NodeJS.Signals>,
): Promise<void> {
  const dbFile = join(folder, DEV_FOLDER, 'temporal.db');
  const logFile = join(folder, DEV_FOLDER, 'temporal.log');
  const server = await startDevServer({ ...options, dbFile, logFile });
  say({
    event: 'ready',
    address: server.address,
    ui: `http://${HOST}:${options.uiPort}`,
    namespace: server.namespace,
    retentionDays: server.retentionMs / DAY_MS,
    dbFile,
    logFile,
    env: envLine(server.address),
  });
  const died = await Promise.race([asked.then(() => undefined), server.ended]);
  await server.stop();
  if (died !== undefined)
    throw new DevServerError(`The Temporal dev server died (${died}): ${server.lastLines(5)}`);
  say({ event: 'stopped' });
}

function envLine(address: string): string {
  return `TEMPORAL_ADDRESS=${address}`;
}

/** The lines of `--json`. */
type DevEvent =
  | ({ readonly event: 'running'; readonly env: string } & DevFile)
  | ({ readonly event: 'binary'; readonly line: string } & Pick<FoundBinary, 'path' | 'source' | 'version'>)
  | {
      readonly event: 'ready';
      readonly address: string;
      readonly ui: string;
      readonly namespace: string;
      readonly retentionDays: number;
      readonly dbFile: string;
      readonly logFile: string;
      readonly env: string;
    }
  | { readonly event: 'stopped' };
type Say = (event: DevEvent) => void;

function sayJson(event: DevEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

function sayText(event: DevEvent): void {
  process.stdout.write(
    textLines(event)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

function textLines(event: DevEvent): string[] {
  switch (event.event) {
    case 'running':
      return [
        `onelane dev already runs here (process ${event.pid}).`,
        `Temporal   ${event.address}`,
        `Web UI     ${event.ui}`,
        `Use it by  ${event.env}`,
      ];
    case 'binary':
      return [event.line];
    case 'ready':
      return [
        `Temporal   ${event.address}, namespace ${event.namespace}`,
        `Web UI     ${event.ui}`,
        `Kept in    ${event.dbFile} (log: ${event.logFile})`,
        `Retention  ${event.retentionDays} days: so long is the key of a closed item taken`,
        `Use it by  ${event.env}`,
        'Ctrl-C ends it.',
      ];
    case 'stopped':
      return ['Temporal has ended.'];
  }
}
