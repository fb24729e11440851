import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { dispatchActivities } from '../activities/dispatch.ts';
import { startTimeSkipping } from '../dev/temporal/time-skipping.ts';
import { parseDuration } from '../domain/duration.ts';
import { DISPATCH_TASK_QUEUE, parseLaneName } from '../domain/ids.ts';
import { configOfPartition } from '../domain/policy.ts';
import { type Onelane, onelaneOf } from '../library/connect.ts';
import { type Lanes, checkLanes } from '../library/lanes.ts';
import { ensureSearchAttributes } from '../search-attributes.ts';
import { workflowCode } from '../workflow-bundle.ts';
import { MovableClock } from './clock.ts';
import { TestConsumers } from './consumers.ts';
import { skipTime } from './skip-time.ts';

export interface TestStageOptions {
  /** as for `startWorker` of onelane/worker: with functions, or with the URL of an upstream of your test */
  readonly lanes: Lanes;
  /** an environment of yours that skips time, which stays yours to end; one of the stage's own when left out */
  readonly environment?: TestWorkflowEnvironment;
  /** `process.env` by default; headers are filled from it */
  readonly env?: NodeJS.ProcessEnv;
}

/** onelane on a server that skips time: batches are dispatched, and every lane is consumed, by this process alone. */
export interface TestStage {
  readonly onelane: Onelane;
  readonly environment: TestWorkflowEnvironment;
  /** what the lane consumers said */
  readonly said: readonly string[];
  /** the time by which lanes keep their pace and their waits; it is ahead of the real one by what has passed */
  readonly now: () => Date;
  /**
   * Lets time pass, on the server and for the lanes, without waiting: milliseconds, or a text such as `1h`. The server's
   * time stands still while a call is on its way or an item waits in a closed lane: let all of a Retry-After pass at once.
   */
  pass(time: number | string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts onelane for a test. No lane has a holder or a lease here, so `operate.lane` and `lanes` have nothing to work
 * on; lists, counts and schedules are not there either, since the server that skips time has none of them.
 *
 * @throws ConfigError that names what is wrong with the lanes
 */
export async function startTestStage({
  lanes,
  environment,
  env = process.env,
}: TestStageOptions): Promise<TestStage> {
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  const { config, reach } = checkLanes({ lanes }, env, say);
  const own = environment === undefined ? await startTimeSkipping() : undefined;
  const on = environment ?? own;
  if (on === undefined) throw new TypeError('a test stage needs an environment');
  try {
    await ensureSearchAttributes(on.connection, namespaceOf(on));
    return await stageOn(on, { config, reach, say, said, own });
  } catch (error) {
    await own?.teardown();
    throw error;
  }
}

type Parts = ReturnType<typeof checkLanes> & {
  readonly say: (line: string) => void;
  readonly said: readonly string[];
  /** the stage's own environment */
  readonly own: TestWorkflowEnvironment | undefined;
};

async function stageOn(
  environment: TestWorkflowEnvironment,
  { config, reach, say, said, own }: Parts,
): Promise<TestStage> {
  const connection = environment.nativeConnection;
  // The environment's own client lets time run away while it waits for a result.
  const namespace = namespaceOf(environment);
  const client = new Client({ connection: environment.connection, namespace });
  const clock = new MovableClock();
  const consumers = new TestConsumers({ holder: 'test', connection, client, clock, say, reach });
  const dispatch = await Worker.create({
    connection,
    namespace,
    taskQueue: DISPATCH_TASK_QUEUE,
    ...workflowCode(),
    activities: {
      ...dispatchActivities({
        client,
        lanes: config.lanes,
        open: (_client, name) => {
          const { lane, partition } = parseLaneName(name);
          const base = config.lanes.get(lane);
          const laneConfig = base && configOfPartition(base, partition);
          if (laneConfig !== undefined && !consumers.has(name)) consumers.open(name, laneConfig);
          return Promise.resolve(null);
        },
      }),
    },
    // This server never gives up the queue of a worker that has left.
    maxCachedWorkflows: 0,
  });
  const dispatching = dispatch.run();
  return {
    onelane: onelaneOf(client),
    environment,
    said,
    now: () => new Date(clock.epochMs()),
    pass: async (time) => {
      const ms = typeof time === 'number' ? time : parseDuration(time);
      await consumers.settled();
      clock.move(ms);
      await consumers.settled();
      await skipTime(environment, ms);
    },
    close: async () => {
      await consumers.closeAll();
      dispatch.shutdown();
      await dispatching;
      await own?.teardown();
    },
  };
}

function namespaceOf(environment: TestWorkflowEnvironment): string {
  return environment.namespace ?? 'default';
}
