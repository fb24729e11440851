import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { lastLines } from './run.ts';

/** How long a server may take to end by itself before it is killed: it took about one second. */
const GRACE_SECONDS = 5;

/**
 * A server must not outlive us, even when we are killed with SIGKILL and can do nothing about it any more. Linux could
 * tie it to us (PR_SET_PDEATHSIG), macOS could not, and Node offers neither. What works on both is a pipe: this shell
 * holds the one end, only our process the other, and whatever ends us closes it. It is also how `stop` asks.
 *
 * The shell is the server's parent, so that the number it signals cannot have been given to another process. Its last
 * line ends whatever is left in the process group, which is its own (`detached`): a Ctrl-C in the terminal is for
 * us, not for the server under us. `read` in the background needs the pipe as 3, since sh gives background jobs
 * /dev/null as their stdin.
 */
const SUPERVISOR = `
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
{ read -r _ <&3; kill -TERM $server; sleep ${GRACE_SECONDS}; kill -KILL $server; } >/dev/null 2>&1 &
wait $server
code=$?
trap '' TERM
kill -TERM 0
exit $code
`;

/** Lines kept of what the server wrote, for the error when it dies. */
const KEPT_CHARACTERS = 8_000;

export interface Supervised {
  /** resolves with a sentence about how it ended, once all its processes are gone */
  readonly ended: Promise<string>;
  hasEnded(): boolean;
  lastLines(count: number): string;
  /** asks it to end, and kills it when it does not */
  stop(): Promise<void>;
  /** ends it as a crash would, with SIGKILL */
  kill(): Promise<void>;
}

/** @param logFile takes all that the server writes, appended */
export function spawnSupervised(command: readonly string[], logFile?: string): Supervised {
  const shell = spawn('/bin/sh', ['-c', SUPERVISOR, 'onelane-supervisor', ...command], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  // The pipe breaks when the shell is killed; `ended` tells.
  shell.stdin.on('error', () => {});
  const log = logFile === undefined ? undefined : createWriteStream(logFile, { flags: 'a' });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      output = (output + text).slice(-KEPT_CHARACTERS);
      log?.write(text);
    });
  }

  let hasEnded = false;
  // Without this, the pipe would stay open after somebody killed the shell, and the server would live on.
  shell.once('exit', () => shell.stdin.destroy());
  const ended = endOf(shell).then(async (sentence) => {
    hasEnded = true;
    if (log) await finished(log.end());
    return sentence;
  });

  return {
    ended,
    hasEnded: () => hasEnded,
    lastLines: (count) => lastLines(output, count),
    async stop() {
      shell.stdin.destroy();
      // The shell kills the server by itself; this is for a shell that is stuck or stopped.
      const timer = setTimeout(() => killGroup(shell), (GRACE_SECONDS + 3) * 1_000);
      await ended;
      clearTimeout(timer);
    },
    async kill() {
      killGroup(shell);
      await ended;
    },
  };
}

/** 'close' comes when the last process that holds its output is gone, which 'exit' does not say. */
async function endOf(shell: ChildProcess): Promise<string> {
  try {
    await once(shell, 'close');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return shell.signalCode === null ? `exit code ${shell.exitCode}` : `killed by ${shell.signalCode}`;
}

function killGroup(shell: ChildProcess): void {
  if (shell.pid === undefined) return;
  try {
    process.kill(-shell.pid, 'SIGKILL');
  } catch {
    // Gone just now.
  }
}
