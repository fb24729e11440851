import type { HoldReport, LaneView } from '../domain/lane-record.ts';
import { FRESH_LANE, type LaneReport, type LaneState, laneAfter } from '../domain/lane-state.ts';
import type { LaneConfig, Limit } from '../domain/policy.ts';
import type { Verdict } from '../domain/verdict.ts';
import type { Clock } from './clock.ts';

/**
 * What the holder of a lane knows of it: what its own calls taught, and what the lane's workflow says, which is
 * what operators and former holders know. Of two closures the later counts, of two pauses either.
 */
export class HeldLane {
  readonly #config: LaneConfig;
  readonly #clock: Clock;
  #state: LaneState = FRESH_LANE;
  /** the newest that was applied */
  #view: LaneView | null;
  /** the limits in use, which follow the view only once they were announced */
  #used: Pick<LaneView, 'requests' | 'maxInFlight'>;
  /** asked for by RateLimit headers: no throttling yet, so nothing to probe or to back off from */
  #heldUntilMs = -Infinity;
  #lastSuccess: { key: string; epochMs: number } | null = null;
  readonly #tallies: { [verdict in Verdict]: number } = {
    succeeded: 0,
    throttled: 0,
    unavailable: 0,
    ambiguous: 0,
    refused: 0,
    laneFault: 0,
  };

  /** @param view the lane as its workflow knew it when this hold was ordered */
  constructor(config: LaneConfig, clock: Clock, view: LaneView | null) {
    this.#config = config;
    this.#clock = clock;
    this.#view = view;
    this.#used = view ?? { requests: null, maxInFlight: null };
    if (view === null) return;
    const { probing, backoffMs } = view;
    this.#state = { ...FRESH_LANE, probing, backoffMs };
    this.#closeAsIn(view);
  }

  /** Enters what a call's end tells about the lane. */
  report(report: LaneReport): void {
    this.#tallies[report.verdict]++;
    if (report.verdict === 'succeeded')
      this.#lastSuccess = { key: report.key, epochMs: this.#clock.epochMs() };
    this.#state = laneAfter(this.#state, report, this.#config.retryAfterMaxMs, this.#clock.monotonicMs());
  }

  /** Keeps calls back without closing the lane. Never shortens what was asked before. */
  hold(forMs: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, this.#clock.monotonicMs() + forMs);
  }

  /** Takes over what the lane's workflow says: a pause, a resume, a closure. Older views are passed over. */
  apply(view: LaneView): void {
    if (this.#view !== null && view.version <= this.#view.version) return;
    // Only a resume lifts a pause that the lane gave itself, and it starts the counters again.
    if (view.resumed > this.resumed) {
      const { closedUntilMs, closedBecause, probing } = this.#state;
      this.#state = { ...FRESH_LANE, closedUntilMs, closedBecause, probing };
    }
    this.#view = view;
    this.#closeAsIn(view);
  }

  #closeAsIn({ closedForMs, closedBecause }: LaneView): void {
    const closedUntilMs = this.#clock.monotonicMs() + closedForMs;
    if (closedForMs > 0 && closedUntilMs > this.#state.closedUntilMs)
      this.#state = { ...this.#state, closedUntilMs, closedBecause, probing: true };
  }

  /** Goes on under the limits of a view that was applied, unless a newer one was. */
  useLimitsOf(view: LaneView): void {
    if (view.version === this.#view?.version) this.#used = view;
  }

  get limit(): Limit {
    return this.#limitOf(this.#used.requests);
  }

  /** the limit of the newest view, whether or not it is used already */
  get announcedLimit(): Limit {
    return this.#limitOf(this.#view?.requests ?? null);
  }

  #limitOf(overridden: number | null): Limit {
    const { limit } = this.#config;
    const requests = overridden ?? limit.requests;
    return { ...limit, requests, burst: Math.min(limit.burst, requests) };
  }

  get maxInFlight(): number {
    return Math.min(this.#used.maxInFlight ?? this.#config.maxInFlight, this.limit.requests);
  }

  get pausedBecause(): string | null {
    return this.#state.pausedBecause ?? this.#view?.pausedBecause ?? null;
  }

  /** how often the lane was resumed, as far as is known here */
  get resumed(): number {
    return this.#view?.resumed ?? 0;
  }

  get state(): LaneState {
    return this.#state;
  }

  /** by the lane's monotonic clock; in the past when it is open */
  get opensAtMs(): number {
    return Math.max(this.#state.closedUntilMs, this.#heldUntilMs);
  }

  /** How long from now no call leaves because the upstream asked for it or looks away; 0 when open. */
  closedForMs(): number {
    return Math.max(0, this.opensAtMs - this.#clock.monotonicMs());
  }

  othersSucceededSince(epochMs: number, key: string): boolean {
    return this.#lastSuccess !== null && this.#lastSuccess.key !== key && this.#lastSuccess.epochMs > epochMs;
  }

  /** All that the next holder needs to know, beside the calls. */
  account(): Omit<HoldReport, 'window' | 'inFlight'> {
    const { closedBecause, probing, backoffMs } = this.#state;
    return {
      tallies: { ...this.#tallies },
      closedForMs: this.closedForMs(),
      closedBecause,
      probing,
      backoffMs,
    };
  }
}
