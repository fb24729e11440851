import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { pid } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import {
  DefaultLogger,
  type NativeConnection,
  Runtime,
  Worker,
  makeTelemetryFilterString,
} from '@temporalio/worker';
import { dispatchActivities } from './activities/dispatch.ts';
import { laneDeskActivities } from './activities/lane-desk.ts';
import { scheduleActivities } from './activities/publish-window.ts';
import type { Config } from './config.ts';
import { openLane } from './client/open-lane.ts';
import { DISPATCH_TASK_QUEUE, LANES_TASK_QUEUE } from './domain/ids.ts';
import { realClock } from './lane/clock.ts';
import { type SendLog, ownSendLog } from './lane/send-log.ts';
import { StandBy } from './lane/stand-by.ts';
import type { Reach } from './lane/upstream.ts';
import type { WorkerRole } from './worker-roles.ts';
import { workflowCode } from './workflow-bundle.ts';
import { logToStderr } from './worker-log.ts';

/** It takes a moment, and longer only while Temporal can't be reached; then lanes can't be given back either. */
const DESK_ENDS_WITHIN_MS = 2_000;

/**
 * A poll that is given up while its answer is on the way takes a task along: an item would wait for a whole lease,
 * and count as lost while being sent. The SDK lets polls end for so long, and is told so by its environment only.
 */
const POLLS_END_WITHIN_MS = 200;

/**
 * A cached lane workflow keeps some 0.2 MB, and a process may carry hundreds of quiet ones. Their histories are
 * short: one that is not cached costs its next task some 50 ms.
 */
const LANES_CACHED = 100;

/**
 * A new item's first task only queues it in its lane, which can wait; its batch's next task starts more of them, and
 * somebody waits for that. With the SDK's default of 40, items crowd batches out. See docs/decisions/0013.
 */
const WORKFLOW_TASKS_AT_ONCE = 6;

/** Once per process, before anything else of the SDK is used. */
export function installRuntime(): void {
  process.env['TEMPORAL_POLL_SHUTDOWN_INTERRUPT_WAIT_MS'] ??= String(POLLS_END_WITHIN_MS);
  Runtime.install({
    logger: new DefaultLogger('WARN', logToStderr),
    // The core warns of each task that somebody else has done meanwhile, which after a takeover is as it should be.
    telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
    // Signals are ours: the SDK would stop every part at once, and lanes have to be given back first.
    shutdownSignals: [],
  });
}

export interface WorkerParts {
  readonly config: Config;
  readonly roles: readonly WorkerRole[];
  readonly connection: NativeConnection;
  readonly client: Client;
  /** one line for whoever watches the process */
  readonly say: (line: string) => void;
  /** what the calls of a lane go to */
  readonly reach: Reach;
  /** where each call is logged; null for nowhere */
  readonly sendLogFile: string | null;
}

export interface RunningWorker {
  /** Resolves once everything has ended after `stop`; rejects when any part can't go on. */
  readonly ended: Promise<void>;
  /** Nothing leaves any more, the calls in flight end, then dispatch ends. */
  stop(because: string): void;
}

/**
 * One worker process. It only composes: what each part does is said where the part is.
 *
 * @throws SendLogError when the send log can't be used, or another process writes to it: nothing has begun then
 */
export async function startWorker(parts: WorkerParts): Promise<RunningWorker> {
  const process = `${hostname()}:${pid}:${randomUUID().slice(0, 8)}`;
  const holds = parts.roles.includes('lanes');
  // First of all: where its file can't be used, nothing has begun.
  const sendLog =
    holds && parts.sendLogFile !== null
      ? await ownSendLog(parts.sendLogFile, { process, host: hostname() })
      : null;
  try {
    const dispatch = parts.roles.includes('dispatch') ? await dispatchWorker(parts) : undefined;
    const desk = holds ? await laneDeskWorker(parts) : undefined;
    const standBy = holds ? await startStandBy(parts, process, sendLog?.log ?? null) : undefined;
    const running = run({ dispatch, desk, standBy });
    const end = async (): Promise<void> => {
      try {
        await running.ended;
      } finally {
        await sendLog?.close();
      }
    };
    return { ...running, ended: end() };
  } catch (error) {
    await sendLog?.close();
    throw error;
  }
}

interface RunnableParts {
  readonly dispatch: Worker | undefined;
  readonly desk: Worker | undefined;
  readonly standBy: StandBy | undefined;
}

function run({ dispatch, desk, standBy }: RunnableParts): RunningWorker {
  const deskRun = desk?.run();
  const running = Promise.all([dispatch?.run(), deskRun, standBy?.run()]);

  const stop = async (because: string): Promise<void> => {
    // Lane workflows first: the task by which a lane goes to its next holder is another process's to do. Given to
    // one that is about to end, it would be lost, and the lane with it for the second until it times out.
    shutDown(desk);
    await Promise.race([deskRun, sleep(DESK_ENDS_WITHIN_MS)]);
    // Then the lanes: they end their calls and are given back. Last of all what brings them more.
    await standBy?.stop(because);
    shutDown(dispatch);
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

function shutDown(worker: Worker | undefined): void {
  if (worker?.getState() === 'RUNNING') worker.shutdown();
}

async function dispatchWorker({ config, connection, client }: WorkerParts): Promise<Worker> {
  return await Worker.create({
    connection,
    namespace: client.options.namespace,
    taskQueue: DISPATCH_TASK_QUEUE,
    ...workflowCode(),
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASKS_AT_ONCE,
    activities: {
      ...dispatchActivities({ client, lanes: config.lanes }),
      ...scheduleActivities({ client, sources: config.sources }),
    },
  });
}

async function laneDeskWorker({ connection, client }: WorkerParts): Promise<Worker> {
  return await Worker.create({
    connection,
    namespace: client.options.namespace,
    taskQueue: LANES_TASK_QUEUE,
    ...workflowCode(),
    activities: { ...laneDeskActivities(client) },
    // A takeover waits for the lane's workflow: what a dead process had cached is given up at once.
    stickyQueueScheduleToStartTimeout: '500ms',
    maxCachedWorkflows: LANES_CACHED,
  });
}

/** Opens the lanes that everybody can know of; those of partitions are opened by their first items. */
async function startStandBy(parts: WorkerParts, process: string, sendLog: SendLog | null): Promise<StandBy> {
  const { config, connection, client, say, reach } = parts;
  for (const [name, { policy, fingerprint }] of config.lanes)
    if (policy.partitionBy === null) await openLane(client, name, { process, fingerprint });
  return new StandBy({
    process,
    lanes: config.lanes,
    connection,
    client,
    clock: realClock,
    say,
    reach,
    sendLog,
  });
}
