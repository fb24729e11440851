import { workflowInfo } from '@temporalio/workflow';
import {
  type Attempts,
  NO_ATTEMPTS,
  afterReset,
  handOn,
  redriven,
  withoutBodies,
} from '../domain/attempts.ts';
import type { CallOutcome, CallTask, Delivery, ItemEnd, ItemSnapshot, Receipt } from '../domain/delivery.ts';
import type { Evidence } from '../domain/evidence.ts';
import { answerOfEnd } from '../domain/item-end.ts';
import type { ItemState, ParkedState } from '../domain/item.ts';
import { type ItemAnswer, ORDERS_KEPT, type Order } from '../domain/orders.ts';
import type { Named } from './named.ts';
import type { UpstreamCall } from './upstream-call.ts';

/** Answers that came too late tell of a lane that was lost; more of them tell nothing more. */
const LATE_KEPT = 20;

export interface Parked {
  readonly state: ParkedState;
  readonly reason: string;
}

/** What an item knows of itself, and how each thing that can happen to it changes that. It waits for nothing. */
export class ItemLedger {
  readonly delivery: Delivery;
  readonly run: CallTask['run'];
  /** 0 as it was published, n after its nth redrive */
  round = 0;
  /** how many orders have had their turn, also those that were refused then */
  turn = 0;
  /** of its calls up to now; null before the first activity has ended */
  account: Attempts | null;
  /** epoch ms: nothing of it is sent earlier */
  eligibleAtMs: number;
  deadlineMs: number | null;
  acceptRisk = false;
  parked: Parked | null = null;
  parkedAtMs: number | null = null;
  held: Delivery['held'];
  end: ItemEnd | null = null;
  /** while one waits for its turn, backs off, or is made */
  call: UpstreamCall | null = null;
  readonly orders: Order[] = [];
  readonly #late: Evidence[] = [];
  #outcome: CallOutcome | null = null;
  readonly #wasReset: boolean;

  constructor(delivery: Delivery) {
    const { startTime, runId, firstExecutionRunId } = workflowInfo();
    const { item, policy, held } = delivery;
    this.delivery = delivery;
    this.held = held;
    this.run = { id: runId, startedAtMs: startTime.getTime() };
    this.#wasReset = runId !== firstExecutionRunId;
    this.account = this.#wasReset ? afterReset(this.run.startedAtMs) : null;
    this.eligibleAtMs =
      item.notBefore === undefined
        ? this.run.startedAtMs
        : Math.max(this.run.startedAtMs, Date.parse(item.notBefore));
    // From the later of admission and `notBefore`.
    this.deadlineMs = policy.deadlineMs === null ? null : this.eligibleAtMs + policy.deadlineMs;
  }

  get attempts(): Attempts {
    return this.account ?? NO_ATTEMPTS;
  }

  /** of its whole life */
  get attemptsMade(): number {
    const { before, settledAttempt } = this.attempts;
    return before + settledAttempt;
  }

  get #newestOrder(): Order | null {
    return this.orders.at(-1) ?? null;
  }

  /** While a call of it waits or is made, only the server knows more. */
  get state(): ItemState {
    return this.end?.state ?? this.parked?.state ?? 'waiting';
  }

  /** Its call ended for good. */
  called(outcome: CallOutcome): void {
    this.#outcome = outcome;
    this.account = outcome.attempts;
    if (outcome.kind === 'succeeded') this.succeed(outcome.receipt);
    else this.parked = { state: outcome.state, reason: outcome.reason };
  }

  /** Its call was taken out of the queue: another goes on where it stood. */
  takenBack(attempts: Attempts, eligibleAtMs: number): void {
    this.account = handOn(attempts);
    this.eligibleAtMs = Math.max(this.eligibleAtMs, eligibleAtMs);
  }

  redrive(acceptRisk: boolean, nowMs: number): void {
    const { deadlineMs } = this.delivery.policy;
    this.round++;
    this.parked = null;
    this.parkedAtMs = null;
    this.acceptRisk = acceptRisk;
    this.account = this.#unknownBefore(redriven(this.attempts));
    this.eligibleAtMs = nowMs;
    this.deadlineMs = deadlineMs === null ? null : nowMs + deadlineMs;
  }

  /** A lookup found that no call of it was applied, and that none can still arrive. */
  surelyNotApplied(reason: string): void {
    this.account = {
      ...this.attempts,
      unresolved: false,
      ambiguousThisRound: false,
      mayStillArrive: false,
      firstSentAtMs: null,
    };
    this.parked = { state: 'dead', reason };
  }

  succeed(receipt: Receipt): void {
    const attempts = { ...withoutBodies(this.attempts), unresolved: false, mayStillArrive: false };
    this.end = { state: 'succeeded', receipt, attempts, round: this.round, order: this.#newestOrder };
  }

  discard({ by, reason }: Named, nowMs: number): void {
    const at = new Date(nowMs).toISOString();
    const { round } = this;
    const attempts = withoutBodies(this.attempts);
    this.end = { state: 'discarded', by, reason, at, attempts, round, order: this.#newestOrder };
  }

  note(order: Order): void {
    this.orders.push(order);
    if (this.orders.length > ORDERS_KEPT) this.orders.shift();
  }

  noteLate(evidence: Evidence): void {
    this.#late.push(evidence);
    if (this.#late.length > LATE_KEPT) this.#late.shift();
  }

  answer(): ItemAnswer {
    const { delivery, state, round, end, parked } = this;
    const { key } = delivery.item;
    if (end !== null) return answerOfEnd(key, end);
    return { key, state, round, receipt: null, reason: parked?.reason ?? null, order: this.#newestOrder };
  }

  snapshot(): ItemSnapshot {
    const { policy: _policy, request: _request, ...told } = this.delivery;
    const { state, round, turn, parkedAtMs, held, orders } = this;
    return {
      delivery: { ...told, deadlineMs: this.deadlineMs },
      state,
      outcome: this.#outcome,
      round,
      turn,
      parkedAtMs,
      held,
      orders,
      late: this.#late,
    };
  }

  /** In a run that was reset, the run before it may have done what this one is about to do. */
  #unknownBefore(account: Attempts): Attempts {
    if (!this.#wasReset) return account;
    // The risk that is accepted with a redrive is just that.
    return { ...afterReset(this.run.startedAtMs, account), ambiguousThisRound: false };
  }
}
