import { type Clock, realClock } from '../lane/clock.ts';

/** The real time, ahead by as much as a test has let pass without waiting. */
export class MovableClock implements Clock {
  #aheadMs = 0;
  #moved = new AbortController();

  monotonicMs(): number {
    return realClock.monotonicMs() + this.#aheadMs;
  }

  epochMs(): number {
    return realClock.epochMs() + this.#aheadMs;
  }

  /** Whoever sleeps wakes early when the clock moves, and looks again. */
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return realClock.sleep(ms, AbortSignal.any([signal, this.#moved.signal]));
  }

  move(ms: number): void {
    this.#aheadMs += ms;
    const moved = this.#moved;
    this.#moved = new AbortController();
    moved.abort();
  }
}
