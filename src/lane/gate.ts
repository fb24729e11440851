import { FRESH_LANE, type LaneReport, type LaneState, laneAfter } from '../domain/lane-state.ts';
import { type OpenCall, Pace } from '../domain/pace.ts';
import type { LaneConfig } from '../domain/policy.ts';
import type { Clock } from './clock.ts';

/** A closure up to this long is waited out in the slot; a longer one shows as backlog instead. */
const WAITED_OUT_MS = 5_000;

/** Thrown to an item that has to leave the slot unsent. It goes back to the queue, unharmed. */
export class GivenBack extends Error {
  override readonly name = 'GivenBack';
}

/** A call that may leave now, at this very moment, and how the gate learns what became of it. */
export interface Departure {
  /** it goes alone, after the lane had been closed */
  readonly probe: boolean;
  /** the upstream's status came: the request had arrived */
  answered(): void;
  /** the call ended, one way or another; without `answered` it may still be on its way */
  ended(): void;
}

/**
 * The one place through which every call of a lane leaves: pace, closures, probes and the lane's own pause.
 *
 * Whoever wants to call waits in `enter`, makes its connection, and asks `depart` at the last moment before
 * the first byte, since connecting takes time and the lane may have closed meanwhile.
 */
export class Gate {
  readonly #config: LaneConfig;
  readonly #clock: Clock;
  readonly #pace: Pace;
  #lane: LaneState = FRESH_LANE;
  /** asked for by RateLimit headers: no throttling yet, so nothing to probe or to back off from */
  #heldUntilMs = -Infinity;
  #inFlight = 0;
  #stoppedBecause: string | null = null;
  #lastSuccess: { key: string; epochMs: number } | null = null;
  #change = new AbortController();

  constructor(config: LaneConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#pace = new Pace(config.limit, config.policy.delivery.timeoutMs);
    // Whoever called before us may have used up the window a moment ago.
    this.#pace.assumeFullWindow(clock.monotonicMs());
  }

  /** Waits until a call may leave. Rejects with `GivenBack` when that is no longer worth waiting for in the slot. */
  async enter(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const because = this.#notWorthWaiting();
      if (because !== null) throw new GivenBack(because);
      const waitMs = this.#earliestMs() - this.#clock.monotonicMs();
      if (waitMs <= 0) return;
      await this.#clock.sleep(waitMs, AbortSignal.any([signal, this.#change.signal]));
    }
  }

  /** Lets a call leave, or answers undefined when it may not any more: enter again. */
  depart(): Departure | undefined {
    const nowMs = this.#clock.monotonicMs();
    if (this.#notWorthWaiting() !== null || this.#earliestMs() > nowMs) return undefined;
    this.#inFlight++;
    return this.#departure(this.#pace.leave(nowMs), this.#lane.probing);
  }

  #departure(call: OpenCall, probe: boolean): Departure {
    return {
      probe,
      answered: () => {
        call.answered(this.#clock.monotonicMs());
        this.#changed();
      },
      ended: () => {
        // After `answered` this changes nothing: the earlier of the two counts.
        call.unanswered();
        this.#inFlight--;
        this.#changed();
      },
    };
  }

  /** Infinity while only an open call's end can tell. */
  #earliestMs(): number {
    if (this.#lane.probing && this.#inFlight > 0) return Infinity;
    return Math.max(this.#pace.nextAtMs(), this.#lane.closedUntilMs, this.#heldUntilMs);
  }

  /** Enters what a call's end tells about the lane, before its slot is free again. */
  report(report: LaneReport): void {
    if (report.verdict === 'succeeded')
      this.#lastSuccess = { key: report.key, epochMs: this.#clock.epochMs() };
    this.#lane = laneAfter(this.#lane, report, this.#config.retryAfterMaxMs, this.#clock.monotonicMs());
    this.#changed();
  }

  /** Keeps calls back without closing the lane. Never shortens what was asked before. */
  hold(forMs: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, this.#clock.monotonicMs() + forMs);
    this.#changed();
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
    if (this.#lane.pausedBecause !== null) return `lane paused: ${this.#lane.pausedBecause}`;
    const closedForMs = this.closedForMs();
    return closedForMs > WAITED_OUT_MS ? `lane closed for ${Math.ceil(closedForMs)} ms` : null;
  }

  /** How long from now no call leaves because the upstream asked for it or looks away; 0 when open. */
  closedForMs(): number {
    const untilMs = Math.max(this.#lane.closedUntilMs, this.#heldUntilMs);
    return Math.max(0, untilMs - this.#clock.monotonicMs());
  }

  get state(): LaneState {
    return this.#lane;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  othersSucceededSince(epochMs: number, key: string): boolean {
    return this.#lastSuccess !== null && this.#lastSuccess.key !== key && this.#lastSuccess.epochMs > epochMs;
  }

  /**
   * Resolves at the gate's next change, or when a closure has become short. Takes no signal, since `stop` is a change,
   * and Node 20's `AbortSignal.any` leaves something behind at each long-lived signal that it is given.
   */
  async nextChange(): Promise<void> {
    const untilShortMs = this.closedForMs() - WAITED_OUT_MS;
    await this.#clock.sleep(untilShortMs > 0 ? untilShortMs : Infinity, this.#change.signal);
  }

  #changed(): void {
    const change = this.#change;
    this.#change = new AbortController();
    change.abort();
  }
}
