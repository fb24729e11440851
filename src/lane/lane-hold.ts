import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { HoldOrder } from '../activities/contract.ts';
import { laneWorkflowId } from '../domain/ids.ts';
import type { LaneView } from '../domain/lane-record.ts';
import type { LaneConfig } from '../domain/policy.ts';
import * as messages from '../workflows/lane-messages.ts';
import type { Clock } from './clock.ts';
import { LaneConsumer } from './consumer.ts';
import { Gate } from './gate.ts';
import { Lease } from './lease.ts';
import type { LaneSendLog, SendLog } from './send-log.ts';
import type { Reach } from './upstream.ts';

/** One try to store something with the lane workflow, or to give the lane back. */
const STORE_WITHIN_MS = 2_000;
const STORE_AGAIN_MS = 200;

export interface LaneHoldParts {
  readonly config: LaneConfig;
  readonly order: HoldOrder;
  readonly taskToken: Uint8Array;
  readonly connection: NativeConnection;
  readonly client: Client;
  readonly clock: Clock;
  readonly say: (line: string) => void;
  readonly reach: Reach;
  /** null: calls are not logged */
  readonly sendLog: SendLog | null;
  /** as the send log and evidence name this process */
  readonly process: string;
}

/**
 * One hold of one lane, from the order to its end: the lease, and the consumer that lives by it.
 *
 * Ends in one of two ways. Given back, whoever asked for it: nothing leaves any more, the call in flight ends,
 * and everything known goes back with the lease. Lost: the consumer stops for good at once, and is not waited
 * for, since ending it needs the server that can't be reached; the process refuses the lane until it has ended.
 */
export class LaneHold {
  readonly #parts: LaneHoldParts;
  readonly #lease: Lease;
  readonly #gate: Gate;
  readonly #log: LaneSendLog | null;
  readonly #consumer: LaneConsumer;
  readonly #release = new AbortController();
  /** resolves when nothing of this hold is left, its old consumer included */
  readonly ended: Promise<void>;

  /** Whether it ended because the lease was lost, so that nobody was given the lane by us. */
  get isLost(): boolean {
    return this.#lease.lost.aborted;
  }

  constructor(parts: LaneHoldParts) {
    const { config, order, taskToken, client, clock, connection, say, reach, sendLog, process } = parts;
    this.#parts = parts;
    const { leaseMs } = order;
    this.#lease = new Lease({
      // What it tells is taken at the moment of asking.
      beat: (withinMs) =>
        client.withDeadline(Date.now() + withinMs, () =>
          client.activity.heartbeat(taskToken, this.#gate.holdReport()),
        ),
      leaseMs,
      clock,
      everyMs: () => this.#beatEveryMs(),
    });
    this.#gate = new Gate({ config, clock, cover: this.#lease }, order.view, order.last);
    this.#log =
      sendLog?.opened({ lane: order.name, epoch: order.epoch, holder: process, ...this.#limits() }) ?? null;
    this.#consumer = new LaneConsumer({
      name: order.name,
      holder: process,
      config,
      gate: this.#gate,
      connection,
      client,
      clock,
      say,
      reach,
      held: () => this.#lease.covers(0),
      store: () => this.#store(),
      log: this.#log,
    });
    this.ended = this.#run();
  }

  get epoch(): number {
    return this.#parts.order.epoch;
  }

  /** Gives the lane back: nothing leaves any more, the call in flight ends. */
  release(because: string): void {
    this.#gate.stop(because);
    this.#release.abort();
  }

  /** Resolves when the view holds, and no call that left before it is open. */
  async change(view: LaneView): Promise<void> {
    this.#gate.apply(view);
    // Should we be lost just after raising the limit, the next holder must know that it was raised.
    if (!(await this.#lease.confirmedFromNow())) return;
    this.#gate.changeLimit(view);
    this.#log?.limits(this.#limits());
    await this.#gate.quiet(this.#lease.lost);
  }

  #limits() {
    const { timeoutMs } = this.#parts.config.policy.delivery;
    return { limit: this.#gate.limit, maxInFlight: this.#gate.maxInFlight, timeoutMs };
  }

  /** While calls leave, often enough that one lost beat costs no call; otherwise as rarely as the lease allows. */
  #beatEveryMs(): number {
    const { order, config } = this.#parts;
    return this.#gate.busy ? (order.leaseMs - config.policy.delivery.timeoutMs) / 3 : order.leaseMs * 0.4;
  }

  async #run(): Promise<void> {
    const { order, say } = this.#parts;
    await this.#lease.confirm();
    const keeping = new AbortController();
    const kept = this.#lease.keep(keeping.signal);
    say(`lane ${order.name} is held by this process, epoch ${order.epoch}`);
    const consuming = this.#consumer.start();
    try {
      await Promise.race([
        aborted(this.#lease.lost),
        aborted(this.#lease.wantedBack),
        aborted(this.#release.signal),
        consuming,
      ]);
      await (this.#lease.lost.aborted ? this.#abandon() : this.#giveBack());
    } finally {
      keeping.abort();
      await kept;
    }
  }

  async #abandon(): Promise<void> {
    const { order, say } = this.#parts;
    say(`lane ${order.name} was lost, epoch ${order.epoch}: ${this.#lease.lostBecause}`);
    await this.#consumer.stop('the lease was lost');
  }

  async #giveBack(): Promise<void> {
    const { order, say, client, taskToken } = this.#parts;
    await this.#consumer.stop('the lane is being given back');
    await this.#untilLost(() => client.activity.complete(taskToken, this.#gate.holdReport()));
    if (this.#lease.lost.aborted) return;
    this.#log?.handedOver();
    say(`lane ${order.name} was given back, epoch ${order.epoch}`);
  }

  /** Stores what a call taught with the lane workflow, before its slot is free again. */
  async #store(): Promise<void> {
    const { client, order } = this.#parts;
    const { closedBecause, probing, backoffMs, pausedBecause } = this.#gate.state;
    const handle = client.workflow.getHandle(laneWorkflowId(order.name));
    if (pausedBecause !== null) {
      const pause = { epoch: order.epoch, reason: pausedBecause, resumed: this.#gate.resumed };
      await this.#untilLost(() => handle.signal(messages.pausedItself, pause));
      return;
    }
    await this.#untilLost(() => {
      const closed: messages.Closed = {
        epoch: order.epoch,
        forMs: this.#gate.closedForMs(),
        because: closedBecause,
        probing,
        backoffMs,
      };
      return handle.signal(messages.closed, closed);
    });
  }

  /** Tries until the server has it, or until the lease is lost and somebody else decides. */
  async #untilLost(store: () => Promise<unknown>): Promise<void> {
    const { client, clock } = this.#parts;
    while (!this.#lease.lost.aborted) {
      try {
        await client.withDeadline(Date.now() + STORE_WITHIN_MS, store);
        return;
      } catch {
        // Whatever it was, it has no other cure: a lease that can't be used any more ends by itself.
        await clock.sleep(STORE_AGAIN_MS, this.#lease.lost);
      }
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
