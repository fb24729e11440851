import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../src/lane/clock.ts';

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** Stands still until the test moves it, and has a wall clock that can be stepped. */
export class HandClock implements Clock {
  #monotonicMs = 1_000;
  #epochMs = Date.UTC(2026, 7, 12, 17);
  readonly #sleepers = new Set<Sleeper>();

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  epochMs(): number {
    return this.#epochMs;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper: Sleeper = { untilMs: this.#monotonicMs + ms, wake };
      this.#sleepers.add(sleeper);
      signal.addEventListener('abort', wake);
    });
  }

  /** Lets time pass, a millisecond at a time, so that whoever wakes by it runs at its own moment. */
  async pass(ms: number): Promise<void> {
    for (let i = 0; i < ms; i++) {
      this.#monotonicMs++;
      this.#epochMs++;
      const woken = [...this.#sleepers].filter(({ untilMs }) => untilMs <= this.#monotonicMs);
      for (const { wake } of woken) wake();
      if (woken.length > 0) await turn();
    }
    await turn();
  }

  /** An administrator or NTP sets the wall clock. */
  stepWall(ms: number): void {
    this.#epochMs += ms;
  }

  /** The machine sleeps: its wall clock goes on, its monotonic clock doesn't, and nobody wakes. */
  suspend(ms: number): void {
    this.#epochMs += ms;
  }
}
