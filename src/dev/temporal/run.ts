import { execFile } from 'node:child_process';

export interface RunOptions {
  readonly timeoutMs: number;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Runs a program to its end, with nothing to read.
 *
 * @returns all that it wrote, stdout before stderr
 * @throws Error with how it ended and the last lines that it wrote
 */
export function run(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      command,
      args,
      { env: options.env, timeout: options.timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout + stderr);
        else reject(new Error(sayEnd(error, stderr || stdout, options.timeoutMs)));
      },
    );
    child.stdin?.end();
  });
}

function sayEnd(
  error: Error & { code?: unknown; killed?: boolean },
  output: string,
  timeoutMs: number,
): string {
  const end = error.killed ? `not done after ${timeoutMs / 1000} s` : endOf(error);
  const said = lastLines(output, 3);
  return said === '' ? end : `${end}: ${said}`;
}

function endOf(error: Error & { code?: unknown }): string {
  if (error.code === 'ENOENT') return 'no such program';
  if (error.code === 'EACCES') return 'not allowed to run it';
  return typeof error.code === 'number' ? `exit code ${error.code}` : error.message;
}

/** The last lines of a text that say something, on one line. */
export function lastLines(text: string, count: number): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '')
    .slice(-count)
    .join(' | ');
}
