import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from './until.ts';

/** The built command, as it is installed: `npm run test:system` builds it first. */
export const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

/** Whatever a test started and, failing, left. */
const living = new Set<ChildProcess>();
function killLiving(): void {
  for (const child of living) child.kill('SIGKILL');
}
after(killLiving);
process.once('exit', killLiving);

export interface SpawnOptions {
  readonly cwd: string;
  /** on top of our own environment */
  readonly env?: NodeJS.ProcessEnv;
}

export interface Ended {
  /** null when a signal ended it */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A child process that can't outlive its test file. */
export class Process {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #lines: string[] = [];
  #stderr = '';
  readonly ended: Promise<Ended>;

  constructor(name: string, program: string, args: readonly string[], { cwd, env }: SpawnOptions) {
    this.#name = name;
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    living.add(child);
    child.once('exit', () => living.delete(child));
    createInterface({ input: child.stdout }).on('line', (line) => this.#lines.push(line));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    // 'close' comes after the last line was read, which 'exit' does not say.
    this.ended = once(child, 'close').then(() => ({
      code: child.exitCode,
      stdout: this.#lines.join('\n'),
      stderr: this.#stderr,
    }));
  }

  /** Waits for a line on stdout. An error says what the process printed instead. */
  async line(pattern: RegExp, withinMs?: number): Promise<string> {
    const found = () => this.#lines.find((line) => pattern.test(line));
    try {
      await until(`${this.#name} prints ${pattern}`, () => found() !== undefined || !this.#lives(), withinMs);
    } catch (error) {
      throw new Error(this.#account(), { cause: error });
    }
    // What it wrote last may still be in the pipe when it has ended.
    if (found() === undefined) await this.ended;
    const line = found();
    if (line === undefined) throw new Error(`it ended without ${pattern}: ${this.#account()}`);
    return line;
  }

  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** Sends a signal, and waits until the process is gone. */
  async end(signal: NodeJS.Signals): Promise<Ended> {
    this.#child.kill(signal);
    return await this.ended;
  }

  #lives(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  #account(): string {
    return `${this.#name} (exit code ${this.#child.exitCode}) printed:\n${this.#lines.join('\n')}\n${this.#stderr}`;
  }
}

/** `onelane …` as a process of its own. */
export function onelane(args: readonly string[], options: SpawnOptions): Process {
  return new Process(`onelane ${args.join(' ')}`, process.execPath, [MAIN, ...args], options);
}
