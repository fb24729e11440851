import type { HoldReport, LaneView, LastHold } from '../domain/lane-record.ts';
import type { LaneReport, LaneState } from '../domain/lane-state.ts';
import type { OpenCall, Pace } from '../domain/pace.ts';
import { paceAfter } from '../domain/pace-after.ts';
import type { LaneConfig, Limit } from '../domain/policy.ts';
import type { Clock } from './clock.ts';
import type { Cover } from './cover.ts';
import { HeldLane } from './held-lane.ts';
import { type Place, type Turn, Turns } from './turns.ts';

/** A closure up to this long is waited out in the slot; a longer one shows as backlog instead. */
const WAITED_OUT_MS = 5_000;
/** Between two askings for a confirmation that does not come. */
const UNCONFIRMED_WAIT_MS = 100;

/** Thrown to an item that has to leave the slot unsent. It goes back to the queue, unharmed. */
export class GivenBack extends Error {
  override readonly name = 'GivenBack';
}

/** A call that may leave now, at this very moment, and how the gate learns what became of it. */
export interface Departure {
  /** it goes alone, after the lane had been closed */
  readonly probe: boolean;
  /** by the lane's monotonic clock, as are the answers of the other two */
  readonly leftMs: number;
  /** the upstream's status came: the request had arrived */
  answered(): number;
  /** the call ended, one way or another; without `answered` it may still be on its way */
  ended(): number;
}

export interface GateParts {
  readonly config: LaneConfig;
  readonly clock: Clock;
  readonly cover: Cover;
}

/**
 * The one place through which every call of a lane leaves: lease, pace, closures, probes and pauses.
 *
 * Whoever wants to call waits in `enter` for its turn, makes its connection, and asks `depart` at the last moment
 * before the first byte, since connecting takes time, and lane or lease may be gone meanwhile. There are as many turns
 * as calls may be open; more items than that may wait here, so that the next is at hand when one has ended.
 */
export class Gate {
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #cover: Cover;
  readonly #pace: Pace;
  readonly #lane: HeldLane;
  readonly #open = new Set<OpenCall>();
  readonly #turns = new Turns(() => this.#changed());
  #stoppedBecause: string | null = null;
  #change = new AbortController();

  /**
   * @param view the lane as its workflow knew it when this hold was ordered
   * @param last how the hold before this one ended
   */
  constructor({ config, clock, cover }: GateParts, view?: LaneView, last: LastHold = { kind: 'unknown' }) {
    this.#timeoutMs = config.policy.delivery.timeoutMs;
    this.#clock = clock;
    this.#cover = cover;
    this.#lane = new HeldLane(config, clock, view ?? null);
    this.#pace = paceAfter(last, this.limit, this.#timeoutMs, clock.monotonicMs());
  }

  /** Waits until a call may leave. Rejects with `GivenBack` when that is no longer worth waiting for in the slot. */
  async enter(signal: AbortSignal): Promise<Turn> {
    const place = this.#turns.line();
    try {
      await this.#untilMayLeave(place, signal);
      return place.take();
    } finally {
      place.leave();
    }
  }

  async #untilMayLeave(place: Place, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const because = this.#notWorthWaiting();
      if (because !== null) throw new GivenBack(because);
      // One that probes has one turn: connections to an upstream that is away must not be tried side by side.
      const isNext = place.isNext(this.state.probing ? 1 : this.maxInFlight);
      const waitMs = isNext ? this.#earliestMs() - this.#clock.monotonicMs() : Infinity;
      if (waitMs > 0) await this.#sleepOrChange(waitMs, signal);
      else if (this.#cover.covers(this.#timeoutMs)) return;
      else await this.#confirm(signal);
    }
  }

  async #confirm(signal: AbortSignal): Promise<void> {
    await this.#cover.confirm();
    if (!this.#cover.covers(this.#timeoutMs)) await this.#sleepOrChange(UNCONFIRMED_WAIT_MS, signal);
  }

  /** Lets a call leave, or answers undefined when it may not any more: enter again. */
  depart(): Departure | undefined {
    const nowMs = this.#clock.monotonicMs();
    if (this.#notWorthWaiting() !== null || this.#earliestMs() > nowMs) return undefined;
    if (!this.#cover.covers(this.#timeoutMs)) return undefined;
    return this.#departure(this.#pace.leave(nowMs), nowMs, this.state.probing);
  }

  #departure(call: OpenCall, leftMs: number, probe: boolean): Departure {
    this.#open.add(call);
    return {
      probe,
      leftMs,
      answered: () => {
        const answeredMs = this.#clock.monotonicMs();
        call.answered(answeredMs);
        this.#changed();
        return answeredMs;
      },
      ended: () => {
        // After `answered` this changes nothing: the earlier of the two counts.
        call.unanswered();
        this.#open.delete(call);
        this.#changed();
        return this.#clock.monotonicMs();
      },
    };
  }

  /** Infinity while only an open call's end can tell. */
  #earliestMs(): number {
    if (this.state.probing && this.inFlight > 0) return Infinity;
    return Math.max(this.#pace.nextAtMs(), this.#lane.opensAtMs);
  }

  /** Enters what a call's end tells about the lane, before its slot is free again. */
  report(report: LaneReport): void {
    this.#lane.report(report);
    this.#changed();
  }

  /** Keeps calls back without closing the lane. Never shortens what was asked before. */
  hold(forMs: number): void {
    this.#lane.hold(forMs);
    this.#changed();
  }

  /** Takes over what the lane's workflow says. Older views are passed over. */
  apply(view: LaneView): void {
    this.#lane.apply(view);
    this.#changed();
  }

  /**
   * Goes on under the limits of a view that was applied, unless a newer one was. To be called when a report made
   * since then was confirmed: only then does the next holder know of a higher limit, should this one be lost.
   */
  changeLimit(view: LaneView): void {
    this.#lane.useLimitsOf(view);
    this.#pace.changeLimit(this.limit);
    this.#changed();
  }

  get limit(): Limit {
    return this.#lane.limit;
  }

  get maxInFlight(): number {
    return this.#lane.maxInFlight;
  }

  /** Resolves when no call is open any more that is open now; others may be. */
  async quiet(signal: AbortSignal): Promise<void> {
    const open = [...this.#open];
    while (open.some((call) => this.#open.has(call)) && !signal.aborted)
      await this.#sleepOrChange(Infinity, signal);
  }

  /** From now on nothing leaves; who waits is given back. */
  stop(because: string): void {
    this.#stoppedBecause ??= because;
    this.#changed();
  }

  /** Whether the lane's queue should be polled: with the lane paused or closed for long, items wait there, visibly. */
  worthPolling(): boolean {
    return this.#notWorthWaiting() === null;
  }

  #notWorthWaiting(): string | null {
    if (this.#stoppedBecause !== null) return this.#stoppedBecause;
    if (this.pausedBecause !== null) return `lane paused: ${this.pausedBecause}`;
    const closedForMs = this.closedForMs();
    return closedForMs > WAITED_OUT_MS ? `lane closed for ${Math.ceil(closedForMs)} ms` : null;
  }

  get pausedBecause(): string | null {
    return this.#lane.pausedBecause;
  }

  closedForMs(): number {
    return this.#lane.closedForMs();
  }

  get resumed(): number {
    return this.#lane.resumed;
  }

  get state(): LaneState {
    return this.#lane.state;
  }

  othersSucceededSince(epochMs: number, key: string): boolean {
    return this.#lane.othersSucceededSince(epochMs, key);
  }

  get inFlight(): number {
    return this.#open.size;
  }

  /** Some item is being sent, or waits to be. */
  get busy(): boolean {
    return this.#turns.busy;
  }

  /** All that the next holder needs. Announces the limit of the newest view, whether or not it is used already. */
  holdReport(): HoldReport {
    const window = this.#pace.window(this.#clock.monotonicMs(), this.#lane.announcedLimit);
    return { window, ...this.#lane.account(), inFlight: this.inFlight };
  }

  /**
   * Resolves at the gate's next change, or when a closure has become short. Takes no signal, since `stop` is a change,
   * and Node 20's `AbortSignal.any` leaves something behind at each long-lived signal that it is given.
   */
  async nextChange(): Promise<void> {
    const untilShortMs = this.closedForMs() - WAITED_OUT_MS;
    await this.#clock.sleep(untilShortMs > 0 ? untilShortMs : Infinity, this.#change.signal);
  }

  async #sleepOrChange(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, AbortSignal.any([signal, this.#change.signal]));
  }

  #changed(): void {
    const change = this.#change;
    this.#change = new AbortController();
    change.abort();
  }
}
