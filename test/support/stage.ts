import { Client, Connection } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import {
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  makeTelemetryFilterString,
} from '@temporalio/worker';
import { endsCallsWhenClosed } from '../../src/closed-calls.ts';
import { dispatchActivities } from '../../src/activities/dispatch.ts';
import { laneDeskActivities } from '../../src/activities/lane-desk.ts';
import { scheduleActivities } from '../../src/activities/publish-window.ts';
import type { SourceConfig } from '../../src/config/source.ts';
import { openLane } from '../../src/client/open-lane.ts';
import { type DevServerOptions, startDevServer } from '../../src/dev/temporal/dev-server.ts';
import { startTimeSkipping } from '../../src/dev/temporal/time-skipping.ts';
import { DISPATCH_TASK_QUEUE, LANES_TASK_QUEUE } from '../../src/domain/ids.ts';
import type { LaneConfig } from '../../src/domain/policy.ts';
import type { LaneConsumer } from '../../src/lane/consumer.ts';
import { overHttp } from '../../src/lane/upstream.ts';
import { MovableClock } from '../../src/testing/clock.ts';
import { TestConsumers } from '../../src/testing/consumers.ts';
import { skipTime } from '../../src/testing/skip-time.ts';
import { bundleWorkflows } from './bundle.ts';

// Tests make workers and upstreams fail on purpose.
Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
  shutdownSignals: [],
});

/** A Temporal server, and what of onelane a test lets run on it. */
export interface Stage {
  readonly client: Client;
  readonly address: string;
  /** A connection more: on one, each task queue has one worker. It is closed with the stage. */
  connect(): Promise<NativeConnection>;
  /** what a worker's configuration says; a test may add to it at any time */
  readonly lanes: Map<string, LaneConfig>;
  /** likewise, where schedules get their items */
  readonly sources: Map<string, SourceConfig>;
  /** the lane consumers' */
  readonly clock: MovableClock;
  /** what lane consumers said */
  readonly said: string[];
  startDispatch(): Promise<void>;
  stopDispatch(): Promise<void>;
  /** Runs lane workflows. Without it, lanes are opened, and nobody holds them. */
  startLaneDesk(): Promise<void>;
  /**
   * Starts the consumer of a lane, and makes the lane known to dispatch.
   *
   * @param store what it does to keep a closure for who comes next; by default nobody does
   */
  readonly openLane: (config: LaneConfig, store?: () => Promise<void>) => LaneConsumer;
  /** Stops a lane's consumer. */
  closeLane(lane: string): Promise<void>;
  /** Lets time pass on the server and on the clock, without waiting. Only a time-skipping stage can. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

interface Server {
  readonly client: Client;
  readonly connection: NativeConnection;
  readonly address: string;
  /** 0: no workflow is kept by the worker that ran it last, so every task replays its history */
  readonly maxCachedWorkflows?: number;
  /** on the time-skipping server nobody could hold a lane: the lease would stop the skipping */
  readonly openLane: typeof openLane;
  skip(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** On the server that skips time. It keeps no list of workflows. */
export async function timeSkippingStage(): Promise<Stage> {
  return await stageOn(skippingServer(await startTimeSkipping()));
}

/** On the dev server, with all that a real one has. */
export async function devServerStage(options: DevServerOptions = {}): Promise<Stage> {
  const server = await startDevServer(options);
  const connection = await Connection.connect({ address: server.address, plugins: [endsCallsWhenClosed] });
  const native = await NativeConnection.connect({ address: server.address });
  return await stageOn({
    client: new Client({ connection }),
    connection: native,
    openLane,
    address: server.address,
    skip: () => Promise.reject(new Error('only the time-skipping server can skip time')),
    close: async () => {
      await native.close();
      await connection.close();
      await server.stop();
    },
  });
}

function skippingServer(environment: TestWorkflowEnvironment): Server {
  return {
    // The environment's own client lets time run away while it waits for a result.
    client: new Client({ connection: environment.connection }),
    connection: environment.nativeConnection,
    address: environment.address,
    // This server never gives up the queue of a worker that has left.
    maxCachedWorkflows: 0,
    openLane: () => Promise.resolve(null),
    skip: (ms) => skipTime(environment, ms),
    close: () => environment.teardown(),
  };
}

async function stageOn(server: Server): Promise<Stage> {
  const { client, connection } = server;
  const workflowBundle = await bundleWorkflows();
  const lanes = new Map<string, LaneConfig>();
  const sources = new Map<string, SourceConfig>();
  const clock = new MovableClock();
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  const consumers = new TestConsumers({ holder: 'stage', connection, client, clock, say, reach: overHttp });
  let dispatch: { worker: Worker; running: Promise<void> } | undefined;
  let laneDesk: { worker: Worker; running: Promise<void> } | undefined;

  const connections: NativeConnection[] = [];

  const stage: Stage = {
    client,
    address: server.address,
    async connect() {
      const another = await NativeConnection.connect({ address: server.address });
      connections.push(another);
      return another;
    },
    lanes,
    sources,
    clock,
    said,
    async startDispatch() {
      const worker = await Worker.create({
        connection,
        taskQueue: DISPATCH_TASK_QUEUE,
        workflowBundle,
        activities: {
          ...dispatchActivities({ client, lanes, open: server.openLane }),
          ...scheduleActivities({ client, sources }),
        },
        ...(server.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: server.maxCachedWorkflows }),
      });
      dispatch = { worker, running: worker.run() };
    },
    async stopDispatch() {
      dispatch?.worker.shutdown();
      await dispatch?.running;
      dispatch = undefined;
    },
    async startLaneDesk() {
      const worker = await Worker.create({
        connection,
        taskQueue: LANES_TASK_QUEUE,
        workflowBundle,
        activities: { ...laneDeskActivities(client) },
        // As in a worker process: what a dead one had cached is given up at once.
        stickyQueueScheduleToStartTimeout: '500ms',
      });
      laneDesk = { worker, running: worker.run() };
    },
    openLane(config, store) {
      const { lane } = config.policy;
      lanes.set(lane, config);
      return consumers.open(lane, config, store);
    },
    async closeLane(lane) {
      await consumers.close(lane);
    },
    async pass(ms) {
      await consumers.settled();
      clock.move(ms);
      await consumers.settled();
      await server.skip(ms);
    },
    async close() {
      await consumers.closeAll();
      await stage.stopDispatch();
      laneDesk?.worker.shutdown();
      await laneDesk?.running;
      for (const another of connections) await another.close();
      await server.close();
    },
  };
  return stage;
}
