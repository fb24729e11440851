import assert from 'node:assert/strict';
import type { PaceWindow } from '../../src/domain/pace-window.ts';
import { type OpenCall, Pace } from '../../src/domain/pace.ts';
import type { Limit } from '../../src/domain/policy.ts';

/** One call as chance has it. */
export interface CallPlan {
  /** how long the lane has nothing to send before it, ms */
  readonly quietMs: number;
  readonly latencyMs: number;
  /** where between leaving and being answered (or its timeout) the request arrives; 0 to 1 */
  readonly arrivesAt: number;
  /** never answered; it arrives at any moment up to the timeout */
  readonly unanswered: boolean;
}

/** One holder as chance has it. Times are ms. */
export interface HoldPlan {
  /** what it sends; a lost one begins again with the first until its fence */
  readonly calls: readonly CallPlan[];
  /** from the end of the lease before to its beginning, ms */
  readonly startsAfterMs: number;
  readonly beatEveryMs: number;
  /** how long the server takes to hear a beat */
  readonly heardAfterMs: number;
  /** other limits, each before the call with this index */
  readonly limits: readonly { readonly before: number; readonly requests: number }[];
  readonly end: HoldEnd;
}

export type HoldEnd =
  | { readonly kind: 'handedOver' }
  /**
   * From the call with this index on, no beat reaches the server, or (`answers`) no answer comes back from it: the
   * first of them is then still heard. It goes on calling until its fence, or dies after so many calls more.
   */
  | { readonly kind: 'lost'; readonly at: number; readonly answers: boolean; readonly diesAfter: number };

export interface FleetOptions {
  readonly limit: Limit;
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly maxInFlight: number;
}

/** A call as the world saw it, on the world's one clock. */
export interface Sent {
  readonly leftMs: number;
  readonly arrivedMs: number;
  readonly endedMs: number;
  /** the limit under which it left */
  readonly requests: number;
}

type Last =
  | { readonly kind: 'none' }
  | { readonly kind: 'handedOver'; readonly window: PaceWindow }
  | { readonly kind: 'lost'; readonly window: PaceWindow };

interface Beat {
  readonly askedMs: number;
  readonly heardMs: number;
  readonly window: PaceWindow;
}

/** Sends calls through one holder after the other, as the lane workflow, the lease and the gate do. */
export function runFleet(options: FleetOptions, plans: readonly HoldPlan[]): Sent[] {
  const sent: Sent[] = [];
  let last: Last = { kind: 'none' };
  let freeAtMs = 0;
  plans.forEach((plan, index) => {
    // Each process has a clock of its own: only differences may count.
    const hold = new Hold(options, plan, freeAtMs + plan.startsAfterMs, index * 7_777, last, sent);
    ({ last, freeAtMs } = hold.run());
  });
  return sent;
}

class Hold {
  readonly #options: FleetOptions;
  readonly #plan: HoldPlan;
  readonly #sent: Sent[];
  readonly #pace: Pace;
  readonly #clockAheadMs: number;
  #limit: Limit;
  #nowMs: number;
  #beatAtMs: number;
  #confirmed: Beat;
  /** the newest that the server knows */
  #heard: Beat;
  #open: { readonly endsAtMs: number; readonly settle: () => void }[] = [];
  #left = 0;
  #deaf = false;
  #announced: HoldPlan['limits'][number] | null = null;

  constructor(
    options: FleetOptions,
    plan: HoldPlan,
    nowMs: number,
    clockAheadMs: number,
    last: Last,
    sent: Sent[],
  ) {
    this.#options = options;
    this.#plan = plan;
    this.#sent = sent;
    this.#clockAheadMs = clockAheadMs;
    this.#nowMs = nowMs;
    this.#limit = options.limit;
    this.#pace = new Pace(options.limit, options.timeoutMs);
    switch (last.kind) {
      case 'none':
        break;
      case 'handedOver':
        this.#pace.continueFrom(last.window, this.#ownMs(nowMs));
        break;
      case 'lost':
        this.#pace.takeOverFrom(last.window, options.leaseMs, this.#ownMs(nowMs));
    }
    this.#heard = this.#ask();
    this.#confirmed = this.#heard;
    this.#beatAtMs = nowMs + plan.beatEveryMs;
  }

  #ownMs(worldMs: number): number {
    return worldMs + this.#clockAheadMs;
  }

  #ask(): Beat {
    const announced =
      this.#announced === null ? this.#limit : limitOf(this.#options.limit, this.#announced.requests);
    return {
      askedMs: this.#nowMs,
      heardMs: this.#nowMs + this.#plan.heardAfterMs,
      window: this.#pace.window(this.#ownMs(this.#nowMs), announced),
    };
  }

  run(): { last: Last; freeAtMs: number } {
    const { end, calls } = this.#plan;
    const { leaseMs } = this.#options;
    if (end.kind === 'handedOver') {
      for (const call of calls) this.#send(call);
      while (this.#open.length > 0) this.#letOneEnd();
      const window = this.#pace.window(this.#ownMs(this.#nowMs));
      return { last: { kind: 'handedOver', window }, freeAtMs: this.#nowMs };
    }
    for (const call of calls.slice(0, end.at)) this.#send(call);
    this.#deaf = true;
    const rest = [...calls.slice(end.at), ...calls];
    for (let more = 0; more < end.diesAfter; more++) {
      const call = rest[more % rest.length];
      if (call === undefined || !this.#send(call)) break;
    }
    while (this.#open.length > 0) this.#letOneEnd();
    return {
      last: { kind: 'lost', window: this.#heard.window },
      freeAtMs: this.#heard.heardMs + leaseMs,
    };
  }

  /** False when the lease no longer covers it. */
  #send(call: CallPlan): boolean {
    this.#changeLimit();
    this.#advanceTo(this.#nowMs + call.quietMs);
    for (;;) {
      // Whole milliseconds, so that sums are exact.
      const mayAtMs = Math.ceil(this.#pace.nextAtMs()) - this.#clockAheadMs;
      if (this.#open.length >= this.#maxInFlight || mayAtMs === Infinity) this.#letOneEnd();
      else if (mayAtMs > this.#nowMs) {
        const firstEnd = Math.min(...this.#open.map(({ endsAtMs }) => endsAtMs));
        this.#advanceTo(Math.min(mayAtMs, firstEnd));
      } else if (this.#covered()) {
        this.#leave(call);
        return true;
      } else if (this.#deaf) return false;
      else this.#advanceTo(this.#beatAtMs);
    }
  }

  get #maxInFlight(): number {
    return Math.min(this.#options.maxInFlight, this.#limit.requests);
  }

  #covered(): boolean {
    const { timeoutMs, leaseMs } = this.#options;
    return this.#nowMs + timeoutMs < this.#confirmed.askedMs + leaseMs;
  }

  /** A new limit is told with a beat; meanwhile one more call leaves; then the beat is confirmed and the limit used. */
  #changeLimit(): void {
    if (this.#announced !== null && this.#left > this.#announced.before) {
      this.#limit = limitOf(this.#options.limit, this.#announced.requests);
      this.#pace.changeLimit(this.#limit);
      this.#announced = null;
    }
    const change = this.#plan.limits.find(({ before }) => before === this.#left);
    if (change === undefined || this.#deaf) return;
    this.#announced = change;
    this.#hear(this.#ask());
  }

  #hear(beat: Beat): void {
    this.#heard = beat;
    this.#confirmed = beat;
  }

  #beat(): void {
    this.#beatAtMs = this.#nowMs + this.#plan.beatEveryMs;
    if (!this.#deaf) return this.#hear(this.#ask());
    const { end } = this.#plan;
    const firstUnanswered = this.#heard === this.#confirmed;
    if (end.kind === 'lost' && end.answers && firstUnanswered) this.#heard = this.#ask();
  }

  #leave({ latencyMs, arrivesAt, unanswered }: CallPlan): void {
    const { timeoutMs } = this.#options;
    const leftMs = this.#nowMs;
    const endsAtMs = leftMs + Math.min(latencyMs, timeoutMs);
    const { arrivalWithinMs } = this.#limit;
    const inTransitMs = unanswered ? timeoutMs : endsAtMs - leftMs;
    const withinMs = Math.min(inTransitMs, arrivalWithinMs ?? Infinity);
    const call: OpenCall = this.#pace.leave(this.#ownMs(leftMs));
    const arrivedMs = leftMs + Math.floor(arrivesAt * withinMs);
    this.#sent.push({ leftMs, arrivedMs, endedMs: endsAtMs, requests: this.#limit.requests });
    const settle = unanswered ? () => call.unanswered() : () => call.answered(this.#ownMs(endsAtMs));
    this.#open.push({ endsAtMs, settle });
    this.#open.sort((a, b) => a.endsAtMs - b.endsAtMs);
    this.#left++;
  }

  #letOneEnd(): void {
    const first = this.#open[0];
    assert(first, 'the pace waits for the end of a call, and none is open');
    this.#advanceTo(first.endsAtMs);
  }

  /** Lets beats and ends happen in their order. */
  #advanceTo(toMs: number): void {
    for (;;) {
      const endAtMs = this.#open[0]?.endsAtMs ?? Infinity;
      if (Math.min(endAtMs, this.#beatAtMs) > toMs) break;
      if (endAtMs <= this.#beatAtMs) {
        this.#nowMs = endAtMs;
        this.#open.shift()?.settle();
      } else {
        this.#nowMs = this.#beatAtMs;
        this.#beat();
      }
    }
    this.#nowMs = toMs;
  }
}

/** As the gate has it: nobody may burst by more than all requests. */
function limitOf(limit: Limit, requests: number): Limit {
  return { ...limit, requests, burst: Math.min(limit.burst, requests) };
}
