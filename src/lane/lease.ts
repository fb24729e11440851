import { ActivityCancelledError, ActivityNotFoundError } from '@temporalio/client';
import type { Clock } from './clock.ts';
import type { Cover } from './cover.ts';

/** What clock rates, rounding and the way from a check to the first byte may cost, beside 1 % of the lease. */
const MARGIN_MS = 100;
/** Clocks that disagree by more since the last confirmation tell of a suspended machine, or of a stepped wall clock. */
const CLOCKS_AGREE_WITHIN_MS = 200;
/** A beat that is unanswered for longer is given up and asked again. */
const BEAT_WITHIN = 0.25;

export interface LeaseParts {
  /** One heartbeat of the `holdLane` activity that is the lease; resolves when the server has answered it. */
  readonly beat: (withinMs: number) => Promise<void>;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** how often it is confirmed at least: rarely while nothing is to be sent */
  readonly everyMs: () => number;
}

/**
 * A holder's side of its lease: heartbeats of the `holdLane` activity, each confirmed by the server's own
 * answer and counted from when it was asked for, so that the server can't have counted it earlier.
 *
 * ```
 *   unconfirmed ──beat answered──▶ confirmed ──not found, or unconfirmed for a whole lease──▶ lost
 *                                   │    ▲
 *                                   └────┘ beat answered
 * ```
 *
 * Lost is for good, beats included: somebody else may hold the lane by then, and a later beat could only
 * confuse. `released` is no state of the lease: it says that the lane workflow wants it back.
 */
export class Lease implements Cover {
  readonly #parts: LeaseParts;
  #confirmed: { monotonicMs: number; epochMs: number } | null = null;
  readonly #begunMs: number;
  #beating: Promise<void> | null = null;
  #lostBecause: string | null = null;
  readonly #lost = new AbortController();
  readonly #wanted = new AbortController();

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    this.#begunMs = parts.clock.monotonicMs();
  }

  /** Aborts when the lease is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Aborts when the lane workflow asks for the lane. */
  get wantedBack(): AbortSignal {
    return this.#wanted.signal;
  }

  get lostBecause(): string | null {
    return this.#lostBecause;
  }

  covers(forMs: number): boolean {
    if (this.#confirmed === null || this.#lost.signal.aborted) return false;
    const { clock, leaseMs } = this.#parts;
    const monotonicMs = clock.monotonicMs() - this.#confirmed.monotonicMs;
    const epochMs = clock.epochMs() - this.#confirmed.epochMs;
    // A machine that slept has a monotonic clock that did not: it has to ask before it calls.
    if (Math.abs(monotonicMs - epochMs) > CLOCKS_AGREE_WITHIN_MS) return false;
    return monotonicMs + forMs + MARGIN_MS + leaseMs / 100 < leaseMs;
  }

  /** Confirms until lost, or until the signal aborts. */
  async keep(signal: AbortSignal): Promise<void> {
    const until = AbortSignal.any([signal, this.#lost.signal]);
    while (!until.aborted) {
      const askedMs = this.#parts.clock.monotonicMs();
      await this.confirm();
      const nextMs = this.#confirmedSince(askedMs) ? this.#parts.everyMs() : this.#askAgainMs;
      await this.#parts.clock.sleep(nextMs, until);
    }
  }

  /** Whether the server has heard of what is told now; false when the lease was lost before it could. */
  async confirmedFromNow(): Promise<boolean> {
    const askedMs = this.#parts.clock.monotonicMs();
    while (!this.#lost.signal.aborted) {
      await this.confirm();
      if (this.#confirmedSince(askedMs)) return true;
      await this.#parts.clock.sleep(this.#askAgainMs, this.#lost.signal);
    }
    return false;
  }

  #confirmedSince(monotonicMs: number): boolean {
    return this.#confirmed !== null && this.#confirmed.monotonicMs >= monotonicMs;
  }

  get #askAgainMs(): number {
    return this.#parts.leaseMs / 20;
  }

  /** Asks the server now; those who ask meanwhile share the answer. */
  async confirm(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = null;
    });
    await this.#beating;
  }

  async #beat(): Promise<void> {
    const { clock } = this.#parts;
    if (this.#unheardForALease()) return;
    const asked = { monotonicMs: clock.monotonicMs(), epochMs: clock.epochMs() };
    try {
      await this.#ask();
      this.#confirmed = asked;
    } catch (error) {
      if (error instanceof ActivityCancelledError) {
        // An answer all the same: the lease stands until it is given back.
        this.#confirmed = asked;
        this.#wanted.abort();
      } else if (error instanceof ActivityNotFoundError) this.#lose('the server no longer knows it');
      else this.#unheardForALease();
    }
  }

  /** Given up by our own clock, too: a deadline is on the wall clock, which may be stepped back an hour meanwhile. */
  async #ask(): Promise<void> {
    const { beat, clock, leaseMs } = this.#parts;
    const withinMs = leaseMs * BEAT_WITHIN;
    const over = new AbortController();
    const late = clock.sleep(withinMs, over.signal).then(() => {
      throw new Error(`unanswered for ${withinMs} ms`);
    });
    try {
      await Promise.race([beat(withinMs), late]);
    } finally {
      over.abort();
    }
  }

  #unheardForALease(): boolean {
    if (this.#lost.signal.aborted) return true;
    const sinceMs = this.#confirmed?.monotonicMs ?? this.#begunMs;
    if (this.#parts.clock.monotonicMs() - sinceMs < this.#parts.leaseMs) return false;
    this.#lose('unconfirmed for a whole lease');
    return true;
  }

  #lose(because: string): void {
    this.#lostBecause ??= because;
    this.#lost.abort();
  }
}
