import { hostname } from 'node:os';
import { ApplicationFailure, CompleteAsyncError, Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ApplicationFailureCategory } from '@temporalio/common';
import { type NativeConnection, Worker } from '@temporalio/worker';
import type { ProcessActivities, StandbyActivities } from '../activities/contract.ts';
import { openLane } from '../client/open-lane.ts';
import { parseLaneName, processTaskQueue, standbyTaskQueue } from '../domain/ids.ts';
import type { Claimant } from '../domain/lane-record.ts';
import { type LaneConfig, configOfPartition } from '../domain/policy.ts';
import type { Clock } from './clock.ts';
import { LaneHold } from './lane-hold.ts';
import type { SendLog } from './send-log.ts';
import type { Reach } from './upstream.ts';

/** A process never holds so many lanes; holding costs a slot for a moment only. */
const MOST_AT_ONCE = 1_000;
/** A poll more would only be one more that a frozen process keeps open at the server. */
const ONE_POLL = { type: 'simple-maximum', maximum: 1 } as const;

/** A claim that another process may answer, or this one in a moment, is asked again at once. */
const ASK_AGAIN_MS = 50;
/** Only a process with another file can answer; nobody may have one. */
const OTHER_FILE_MS = 5_000;
/** Until then the server is away, most of all. */
const REOPEN_AFTER_MS = 1_000;
/** A claim is to be answered within a second. */
const BEATS_WITHIN_MS = 500;

export interface StandByParts {
  /** unique among all processes that ever ran */
  readonly process: string;
  readonly lanes: ReadonlyMap<string, LaneConfig>;
  readonly connection: NativeConnection;
  readonly client: Client;
  readonly clock: Clock;
  readonly say: (line: string) => void;
  readonly reach: Reach;
  /** null: calls are not logged */
  readonly sendLog: SendLog | null;
}

/** A process's part in the fleet: it stands by for its lanes, and holds those that it is given. */
export class StandBy {
  readonly #parts: StandByParts;
  readonly #holds = new Map<string, LaneHold>();
  #stoppedBecause: string | null = null;
  readonly #stopping = new AbortController();
  #standing: Worker[] = [];
  #process: Worker | undefined;
  #fail: (error: unknown) => void = () => undefined;
  readonly #failed: Promise<never>;

  constructor(parts: StandByParts) {
    this.#parts = parts;
    this.#failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
  }

  /** Rejects when it can't go on; resolves once it was stopped. */
  async run(): Promise<void> {
    const { lanes, process, connection, client } = this.#parts;
    const shared = { connection, namespace: client.options.namespace, activityTaskPollerBehavior: ONE_POLL };
    const standby: StandbyActivities = { claimLane: (name) => this.#claim(name) };
    const held: ProcessActivities = {
      holdLane: (order) => this.#hold(order),
      changeLane: ({ name, epoch, view }) => this.#holdOf(name, epoch).change(view),
    };
    this.#process = await Worker.create({
      ...shared,
      taskQueue: processTaskQueue(process),
      activities: { ...held },
      maxConcurrentActivityTaskExecutions: MOST_AT_ONCE,
    });
    for (const lane of lanes.keys())
      this.#standing.push(
        await Worker.create({ ...shared, taskQueue: standbyTaskQueue(lane), activities: { ...standby } }),
      );
    const running = Promise.all([this.#process, ...this.#standing].map((worker) => worker.run()));
    // A worker that does not run yet can't be shut down.
    if (this.#stoppedBecause !== null) await this.stop(this.#stoppedBecause);
    await Promise.race([running, this.#failed]);
  }

  /** Stops claiming first, then gives back what it holds, and only then stops the rest. */
  async stop(because: string): Promise<void> {
    this.#stoppedBecause = because;
    this.#stopping.abort();
    for (const worker of this.#standing) if (worker.getState() === 'RUNNING') worker.shutdown();
    const holds = [...this.#holds.values()];
    for (const hold of holds) hold.release(because);
    await Promise.allSettled(holds.map((hold) => hold.ended));
    if (this.#process?.getState() === 'RUNNING') this.#process.shutdown();
  }

  async #claim(name: string): Promise<Claimant> {
    const { process } = this.#parts;
    const config = this.#configOf(name);
    if (config === undefined)
      throw notMe(`the lanes.yaml of process ${process} has no lane ${name}`, OTHER_FILE_MS);
    if (this.#stoppedBecause !== null || this.#holds.has(name))
      throw notMe(`process ${process} can't hold lane ${name} now`, ASK_AGAIN_MS);
    await this.#checkBeats();
    const { leaseMs } = config.policy.delivery;
    const { limit, maxInFlight, fingerprint, idleAfterMs } = config;
    return {
      process,
      host: hostname(),
      fingerprint,
      leaseMs,
      limit: { requests: limit.requests, perMs: limit.perMs },
      maxInFlight,
      idleAfterMs,
    };
  }

  /** A process that reaches the server, but not with heartbeats, would lose each lease that it is given. */
  async #checkBeats(): Promise<void> {
    const { client, process } = this.#parts;
    const { taskToken } = Context.current().info;
    try {
      await client.withDeadline(Date.now() + BEATS_WITHIN_MS, () => client.activity.heartbeat(taskToken));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw notMe(`process ${process} can't send heartbeats: ${why}`, ASK_AGAIN_MS);
    }
  }

  #configOf(name: string): LaneConfig | undefined {
    const { lane, partition } = parseLaneName(name);
    const config = this.#parts.lanes.get(lane);
    return config && configOfPartition(config, partition);
  }

  /** Takes up a lane. Never returns: the activity is completed by its token, when the hold ends. */
  async #hold(order: Parameters<ProcessActivities['holdLane']>[0]): Promise<never> {
    const { lanes: _lanes, ...parts } = this.#parts;
    const config = this.#configOf(order.name);
    if (config === undefined || this.#stoppedBecause !== null || this.#holds.has(order.name))
      throw ApplicationFailure.nonRetryable(`lane ${order.name} can't be held here any more`, 'NotMe');
    const { taskToken } = Context.current().info;
    const hold = new LaneHold({ ...parts, config, order, taskToken });
    this.#holds.set(order.name, hold);
    this.#untilEnded(hold, order.name).catch((error: unknown) => this.#fail(error));
    throw new CompleteAsyncError();
  }

  async #untilEnded(hold: LaneHold, name: string): Promise<void> {
    await hold.ended;
    this.#holds.delete(name);
    if (hold.isLost) await this.#reopen(name);
  }

  /** Its workflow may have been terminated under us. Its items would wait for ever, since nobody else would notice. */
  async #reopen(name: string): Promise<void> {
    const { client, clock } = this.#parts;
    while (this.#stoppedBecause === null)
      try {
        await openLane(client, name);
        return;
      } catch {
        // Temporal is away, which whoever held a lane has said.
        await clock.sleep(REOPEN_AFTER_MS, this.#stopping.signal);
      }
  }

  #holdOf(name: string, epoch: number): LaneHold {
    const hold = this.#holds.get(name);
    if (hold === undefined || hold.epoch !== epoch)
      throw ApplicationFailure.nonRetryable(`epoch ${epoch} of lane ${name} is not held here`, 'NotMe');
    return hold;
  }
}

function notMe(message: string, nextRetryDelay: number): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'NotMe',
    message,
    nextRetryDelay,
    category: ApplicationFailureCategory.BENIGN,
  });
}
