/** `onelane/worker`: onelane's workers inside a process of your own. See docs/library.md. */
import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { IllegalStateError } from '@temporalio/common';
import { connectClient, connectNative } from '../connection.ts';
import { namespaceWarnings } from '../namespace.ts';
import { type WorkerRole, WORKER_ROLES } from '../worker-roles.ts';
import { type RunningWorker, installRuntime, startWorker as startParts } from '../worker.ts';
import type { ConnectOptions } from './connect.ts';
import { environmentOf } from './connect.ts';
import { type Lanes, checkLanes } from './lanes.ts';

export { ConfigError } from '../config.ts';
export { TemporalConfigError, TemporalUnreachableError } from '../connection.ts';
export {
  laneFault,
  refused,
  succeeded,
  throttled,
  unavailable,
  type UpstreamAnswer,
} from '../lane/answers.ts';
export type {
  UpstreamCall,
  UpstreamFunction,
  UpstreamLookup,
  UpstreamLookupCall,
} from '../lane/function-upstream.ts';
export { NamespaceNotReadyError } from '../namespace.ts';
export type { WorkerRole } from '../worker-roles.ts';
export type { FunctionLane, HttpLane, Lanes } from './lanes.ts';

export interface WorkerOptions extends ConnectOptions {
  /** the lanes, written in TypeScript; every process of the fleet must have the same */
  readonly lanes?: Lanes;
  /** a lanes.yaml, instead of `lanes` or beside them */
  readonly config?: string;
  /** `dispatch` and `lanes` by default */
  readonly roles?: readonly WorkerRole[];
  /** where each call is logged, for `onelane audit`; one file per process */
  readonly sendLog?: string;
  /** one line for whoever watches the process; to stderr by default */
  readonly say?: (line: string) => void;
}

export interface OnelaneWorker {
  /** Resolves once everything has ended after `stop`; rejects when any part can't go on. */
  readonly ended: Promise<void>;
  /** Nothing leaves any more, the calls in flight end, and every lane is given back. Resolves when all has ended. */
  stop(because?: string): Promise<void>;
}

/**
 * Starts what `onelane worker` runs, in this process: it dispatches batches, stands by for every lane, and calls the
 * upstreams of those that it holds. Signals are yours: call `stop` on SIGTERM.
 *
 * Installs the SDK's `Runtime`, unless that has happened already. Then have it installed with `shutdownSignals: []`,
 * or the SDK ends the lanes' consumers before their lanes are given back.
 *
 * @throws ConfigError, TemporalConfigError, TemporalUnreachableError, NamespaceNotReadyError
 */
export async function startWorker(options: WorkerOptions): Promise<OnelaneWorker> {
  const { say = sayToStderr, roles = WORKER_ROLES, sendLog } = options;
  const env = environmentOf(options);
  const { config, reach } = checkLanes(options, env, say);
  const connectOptions = { ...options, env };
  // Before the Runtime, which ends with its last connection only: without one it would keep the process for ever.
  const client = await connectClient(connectOptions);
  installRuntimeOnce();
  let connection: NativeConnection | undefined;
  try {
    ({ connection } = await connectNative(connectOptions));
    const { namespace } = client.options;
    const warnings = await namespaceWarnings(client.connection, namespace, [...config.lanes.values()]);
    for (const warning of warnings) say(`warning: ${warning}`);
    const parts = { config, roles, connection, client, say, reach, sendLogFile: sendLog ?? null };
    return running(await startParts(parts), client, connection);
  } catch (error) {
    await client.connection.close();
    await connection?.close();
    throw error;
  }
}

function running(worker: RunningWorker, client: Client, connection: NativeConnection): OnelaneWorker {
  const end = async (): Promise<void> => {
    try {
      await worker.ended;
    } finally {
      await client.connection.close();
      await connection.close();
    }
  };
  const ended = end();
  // Whoever only calls `stop` hears of a failure there.
  ended.catch(() => undefined);
  return {
    ended,
    stop: async (because = 'its process asked for it') => {
      worker.stop(because);
      await ended;
    },
  };
}

function installRuntimeOnce(): void {
  try {
    installRuntime();
  } catch (error) {
    // The process has one, its own or that of an earlier worker of ours.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

function sayToStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
