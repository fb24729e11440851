import { inspect } from 'node:util';
import type { Client } from '@temporalio/client';
import { DefaultLogger, type LogEntry, type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { dispatchActivities } from './activities/dispatch.ts';
import type { Config } from './config.ts';
import { DISPATCH_TASK_QUEUE } from './domain/ids.ts';
import { realClock } from './lane/clock.ts';
import { LaneConsumer } from './lane/consumer.ts';
import type { WorkerRole } from './worker-roles.ts';
import { workflowCode } from './workflow-bundle.ts';

/** Once per process, before anything else of the SDK is used. */
export function installRuntime(): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', logToStderr),
    // Signals are ours: the SDK would stop every part at once, and lanes have to be given back first.
    shutdownSignals: [],
  });
}

function logToStderr({ level, message, meta }: LogEntry): void {
  // A lane's consumer runs activities only, which is as it should be.
  if (message.startsWith('No workflows registered')) return;
  process.stderr.write(
    `[${level}] ${message} ${meta === undefined ? '' : inspect(meta, { breakLength: Infinity })}\n`,
  );
}

export interface WorkerParts {
  readonly config: Config;
  readonly roles: readonly WorkerRole[];
  readonly connection: NativeConnection;
  readonly client: Client;
  /** one line for whoever watches the process */
  readonly say: (line: string) => void;
}

export interface RunningWorker {
  /** Resolves once everything has ended after `stop`; rejects when any part can't go on. */
  readonly ended: Promise<void>;
  /** Nothing leaves any more, the calls in flight end, then dispatch ends. */
  stop(because: string): void;
}

/** One worker process. It only composes: what each part does is said where the part is. */
export async function startWorker(parts: WorkerParts): Promise<RunningWorker> {
  const dispatch = parts.roles.includes('dispatch') ? await dispatchWorker(parts) : undefined;
  const consumers = parts.roles.includes('lanes') ? laneConsumers(parts) : [];
  const running = Promise.all([dispatch?.run(), ...consumers.map((consumer) => consumer.start())]);

  const stop = async (because: string): Promise<void> => {
    // Lanes first: they end their calls, and what they give back must still find its workflow.
    await Promise.allSettled(consumers.map((consumer) => consumer.stop(because)));
    if (dispatch?.getState() === 'RUNNING') dispatch.shutdown();
  };
  let stopping: Promise<void> | undefined;
  const stopOnce = (because: string): Promise<void> => (stopping ??= stop(because));

  const end = async (): Promise<void> => {
    try {
      await running;
    } finally {
      // One part that failed must not leave the others going on as if all were well.
      await stopOnce('another part of this worker failed');
    }
  };
  return { ended: end(), stop: (because) => void stopOnce(because) };
}

async function dispatchWorker({ config, connection, client }: WorkerParts): Promise<Worker> {
  return await Worker.create({
    connection,
    namespace: client.options.namespace,
    taskQueue: DISPATCH_TASK_QUEUE,
    ...workflowCode(),
    activities: { ...dispatchActivities(client, config.lanes) },
  });
}

function laneConsumers({ config, connection, client, say }: WorkerParts): LaneConsumer[] {
  return [...config.lanes.values()].map(
    (lane) => new LaneConsumer({ config: lane, connection, client, clock: realClock, say }),
  );
}
