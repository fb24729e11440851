import { type NativeConnection, Worker } from '@temporalio/worker';
import type { Client } from '@temporalio/client';
import { laneActivities } from '../activities/call-upstream.ts';
import { laneTaskQueue } from '../domain/ids.ts';
import type { LaneConfig } from '../domain/policy.ts';
import type { Clock } from './clock.ts';
import { confirmClaim } from './confirm-claim.ts';
import { LateAnswers } from './late-answers.ts';
import type { Gate } from './gate.ts';
import type { LaneSendLog } from './send-log.ts';
import { Sender } from './sender.ts';
import type { Reach, Upstream } from './upstream.ts';

/**
 * Items that wait in the gate while others are being sent. Handing an item over takes the server some writes, and on
 * a busy one that is longer than the pace waits: the quota would be lost for good. See docs/decisions/0012.
 */
const AT_HAND = 1;

/** Confirmations are waited for at most this long: one that comes later is worth no call. */
const CONFIRM_WITHIN_MS = 5_000;

/**
 * How long the SDK may hold a beat back. Where the upstream takes no keys, a claim travels in a beat, and its
 * call waits until the server has it.
 */
function longestBeatDelayMs({ policy: { delivery } }: LaneConfig): number {
  return delivery.idempotency === null ? 10 : delivery.leaseMs / 3;
}

export interface LaneConsumerParts {
  /** the lane's full name */
  readonly name: string;
  /** this process, as evidence names it */
  readonly holder: string;
  readonly config: LaneConfig;
  /** made anew for each consumer: what it knows of the pace is this hold's */
  readonly gate: Gate;
  readonly connection: NativeConnection;
  readonly client: Client;
  readonly clock: Clock;
  readonly say: (line: string) => void;
  /** whether the lane is surely still ours: an answer that comes when it is not is late */
  readonly held: () => boolean;
  readonly reach: Reach;
  /** Stores the lane's closure or pause; resolves when it is stored, or when the lane is no longer ours. */
  readonly store: () => Promise<void>;
  /** null: calls are not logged */
  readonly log: LaneSendLog | null;
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
  readonly #upstream: Upstream;
  readonly #sender: Sender;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #failure: { error: unknown } | undefined;
  /** undefined in between, while one worker ends or the next one begins */
  #polls: boolean | undefined;

  constructor(parts: LaneConsumerParts) {
    this.#parts = parts;
    this.#gate = parts.gate;
    this.#upstream = parts.reach(parts.name, parts.config);
    this.#sender = new Sender({
      gate: parts.gate,
      upstream: this.#upstream,
      log: parts.log,
      fail: (error) => this.#fail(error),
    });
  }

  /** Rejects when the consumer can't go on; resolves once it was stopped. */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** Whether it polls an open lane, or rests at a closed one, and is not just changing over. */
  get isSettled(): boolean {
    return this.#polls === this.#gate.worthPolling();
  }

  /** Resolves when the call in flight has ended and nothing of this consumer is left. */
  async stop(because: string): Promise<void> {
    this.#gate.stop(because);
    this.#stopping.abort();
    await this.#running;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#gate.stop('this consumer has failed');
    this.#stopping.abort();
  }

  async #run(): Promise<void> {
    try {
      while (!this.#stopping.signal.aborted) {
        if (this.#gate.worthPolling()) await this.#poll();
        else await this.#rest();
      }
      if (this.#failure !== undefined) throw this.#failure.error;
    } finally {
      this.#polls = false;
      this.#upstream.close();
    }
  }

  /** Until the lane is no longer worth polling so. A worker can't be paused or resized: each time it is a new one. */
  async #poll(): Promise<void> {
    const { name, holder, config, connection, client, clock, store } = this.#parts;
    const { maxInFlight } = this.#gate;
    const worker = await Worker.create({
      connection,
      namespace: client.options.namespace,
      taskQueue: laneTaskQueue(name),
      activities: {
        ...laneActivities({
          holder,
          config,
          gate: this.#gate,
          sender: this.#sender,
          clock,
          confirm: (claim) => confirmClaim(client, claim, CONFIRM_WITHIN_MS),
          store,
          lateAnswers: new LateAnswers(this.#parts),
        }),
      },
      maxConcurrentActivityTaskExecutions: maxInFlight + AT_HAND,
      // A second poll would take an item out of the queue that another slot could not send any sooner.
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
      // By itself the SDK holds beats back for 80 % of the lease, so that a single lost one would cost it.
      maxHeartbeatThrottleInterval: longestBeatDelayMs(config),
      // A call in flight is never cut: it ends within its timeout, and whoever waits was given back before.
      shutdownGraceTime: config.policy.delivery.timeoutMs + CONFIRM_WITHIN_MS,
    });
    const run = worker.run();
    this.#polls = true;
    await Promise.race([run, this.#untilNotWorthPolling(maxInFlight)]);
    this.#polls = undefined;
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await run;
  }

  async #untilNotWorthPolling(maxInFlight: number): Promise<void> {
    while (this.#gate.worthPolling() && this.#gate.maxInFlight === maxInFlight) await this.#gate.nextChange();
  }

  async #rest(): Promise<void> {
    const { name, say } = this.#parts;
    say(`lane ${name} ${this.#whyItRests()}`);
    this.#polls = false;
    while (!this.#gate.worthPolling() && !this.#stopping.signal.aborted) await this.#gate.nextChange();
    this.#polls = undefined;
    if (this.#gate.worthPolling()) say(`lane ${name} goes on`);
  }

  #whyItRests(): string {
    const { name } = this.#parts;
    const { pausedBecause, state } = this.#gate;
    const howOn = `It goes on with: onelane lane ${name} resume --reason ...`;
    if (state.pausedBecause !== null) return `has paused itself: ${state.pausedBecause}. ${howOn}`;
    if (pausedBecause !== null) return `is paused: ${pausedBecause}. ${howOn}`;
    return `is closed for ${Math.ceil(this.#gate.closedForMs())} ms: ${state.closedBecause}`;
  }
}
