import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { spawnSupervised, type Supervised } from '../../src/dev/temporal/supervisor.ts';
import { eventually } from './until.ts';

/** The built command, as it is installed: `npm run bench:fleet` builds it first. */
export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** Says its process number, and then becomes the program: who is to be killed must be known. */
const SAYING_PID = ['/bin/sh', '-c', 'echo "pid $$"; exec "$@"', 'bench'];
/** A process starts in a second or two; a machine that starts several at once takes longer. */
const STARTED_WITHIN_MS = 60_000;

/** One `onelane` process. It ends with the bench, however that ends. */
export class Program {
  readonly pid: number;
  readonly #supervised: Supervised;
  readonly #logFile: string;

  private constructor(pid: number, supervised: Supervised, logFile: string) {
    this.pid = pid;
    this.#supervised = supervised;
    this.#logFile = logFile;
  }

  /** @param readyEvent of its JSON lines, the one that says that it is up */
  static async start(
    args: readonly string[],
    env: { readonly [name: string]: string },
    logFile: string,
    readyEvent: string,
  ): Promise<Program> {
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const command = [...SAYING_PID, '/usr/bin/env', ...settings, process.execPath, MAIN, ...args];
    const supervised = spawnSupervised(command, logFile);
    try {
      const pid = await eventually(`${args[0]} says ${readyEvent}`, STARTED_WITHIN_MS, async () => {
        if (supervised.hasEnded())
          throw new Error(
            `${args[0]} ended by itself (${await supervised.ended}): ${supervised.lastLines(5)}`,
          );
        const log = await readLog(logFile);
        return log.includes(`"event":"${readyEvent}"`) ? Number(/^pid (\d+)$/m.exec(log)?.[1]) : undefined;
      });
      return new Program(pid, supervised, logFile);
    } catch (error) {
      await supervised.stop();
      throw error;
    }
  }

  get hasEnded(): boolean {
    return this.#supervised.hasEnded();
  }

  log(): Promise<string> {
    return readLog(this.#logFile);
  }

  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM' | 'SIGKILL'): void {
    process.kill(this.pid, name);
  }

  async ended(): Promise<void> {
    await this.#supervised.ended;
  }

  /** At once, also one that is stopped. */
  async destroy(): Promise<void> {
    if (!this.hasEnded) this.signal('SIGKILL');
    await this.#supervised.stop();
  }
}

async function readLog(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    // It is made with its first line.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}
