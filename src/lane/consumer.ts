import { type NativeConnection, Worker } from '@temporalio/worker';
import type { Client } from '@temporalio/client';
import { laneActivities } from '../activities/call-upstream.ts';
import { laneTaskQueue } from '../domain/ids.ts';
import type { LaneConfig } from '../domain/policy.ts';
import type { Clock } from './clock.ts';
import { Gate } from './gate.ts';
import { UpstreamConnection } from './upstream-connection.ts';

/** Confirmations are waited for at most this long: one that comes later is worth no call. */
const CONFIRM_WITHIN_MS = 5_000;

export interface LaneConsumerParts {
  readonly config: LaneConfig;
  readonly connection: NativeConnection;
  readonly client: Client;
  readonly clock: Clock;
  readonly say: (line: string) => void;
}

/**
 * The only consumer of a lane's task queue.
 *
 * ```
 *   new ──start──▶ polling ◀──────────▶ resting        resting: the lane is paused, or closed for more than 5 s;
 *                     │  closed or paused  │           no poll is open, so items wait in the queue, visibly
 *                     └───stop──▶ stopping ◀──stop─┘   stopping: nothing leaves any more; who waits in the slot
 *                                    │                 goes back to the queue; the call in flight ends
 *                                    ▼
 *                                 stopped
 * ```
 *
 * `start` and `stop` are each called once: a lane that is taken up again gets a new consumer, since what this
 * one knows of the pace is over with it.
 */
export class LaneConsumer {
  readonly #parts: LaneConsumerParts;
  readonly #gate: Gate;
  readonly #upstream: UpstreamConnection;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(parts: LaneConsumerParts) {
    this.#parts = parts;
    this.#gate = new Gate(parts.config, parts.clock);
    this.#upstream = new UpstreamConnection(parts.config.baseUrl, parts.config.maxInFlight);
  }

  get lane(): string {
    return this.#parts.config.policy.lane;
  }

  /** Rejects when the consumer can't go on; resolves once it was stopped. */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** Resolves when the call in flight has ended and nothing of this consumer is left. */
  async stop(because: string): Promise<void> {
    this.#gate.stop(because);
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#stopping.signal.aborted) {
        if (this.#gate.worthPolling()) await this.#poll();
        else await this.#rest();
      }
    } finally {
      this.#upstream.close();
    }
  }

  /** Until the lane is no longer worth polling. A worker can't be paused, so each time it is a new one. */
  async #poll(): Promise<void> {
    const { config, connection, client, clock } = this.#parts;
    const worker = await Worker.create({
      connection,
      namespace: client.options.namespace,
      taskQueue: laneTaskQueue(this.lane),
      activities: {
        ...laneActivities({
          config,
          gate: this.#gate,
          connection: this.#upstream,
          clock,
          confirm: (taskToken, attempts) => this.#confirm(taskToken, attempts),
        }),
      },
      maxConcurrentActivityTaskExecutions: config.maxInFlight,
      // A second poll would take an item out of the queue that another slot could not send any sooner.
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
      // By itself the SDK holds beats back for 80 % of the lease, so that a single lost one would cost it.
      maxHeartbeatThrottleInterval: config.policy.delivery.leaseMs / 3,
      // A call in flight is never cut: it ends within its timeout, and whoever waits was given back before.
      shutdownGraceTime: config.policy.delivery.timeoutMs + CONFIRM_WITHIN_MS,
    });
    const run = worker.run();
    await Promise.race([run, this.#untilNotWorthPolling()]);
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await run;
  }

  async #untilNotWorthPolling(): Promise<void> {
    while (this.#gate.worthPolling()) await this.#gate.nextChange();
  }

  async #rest(): Promise<void> {
    const { pausedBecause, closedBecause } = this.#gate.state;
    this.#parts.say(
      pausedBecause === null
        ? `lane ${this.lane} is closed for ${Math.ceil(this.#gate.closedForMs())} ms: ${closedBecause}`
        : `lane ${this.lane} has paused itself: ${pausedBecause}. Restart the worker when that is mended`,
    );
    while (!this.#gate.worthPolling() && !this.#stopping.signal.aborted) await this.#gate.nextChange();
  }

  async #confirm(taskToken: Uint8Array, details: unknown): Promise<void> {
    const { client } = this.#parts;
    await client.withDeadline(Date.now() + CONFIRM_WITHIN_MS, () =>
      client.activity.heartbeat(taskToken, details),
    );
  }
}
