import { ApplicationFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { type Attempts, afterReset, readAttempts } from '../domain/attempts.ts';
import { canonicalText } from '../domain/canonical.ts';
import type { CallOutcome, CallTask } from '../domain/delivery.ts';
import { formatDuration } from '../domain/duration.ts';
import { type Next, decide, mayNotTry } from '../domain/next.ts';
import type { LaneConfig } from '../domain/policy.ts';
import { rateLimitHold } from '../domain/rate-limit.ts';
import { parseRetryAfter } from '../domain/retry-after.ts';
import { type Circumstances, claimed, givenBack, settle, settleLost } from '../domain/settle.ts';
import { type CallEnd, type Verdict, describeEnd, verdictOf } from '../domain/verdict.ts';
import type { Clock } from '../lane/clock.ts';
import type { Claim } from '../lane/confirm-claim.ts';
import { type Gate, GivenBack } from '../lane/gate.ts';
import type { Sender, SentCall } from '../lane/sender.ts';
import type { Turn } from '../lane/turns.ts';
import type { UpstreamRequest } from '../lane/upstream-connection.ts';
import type { LaneActivities } from './contract.ts';
import { evidenceOf } from './evidence.ts';
import { receiptOf } from './receipt.ts';

export interface CallUpstreamParts {
  /** this process, as evidence names it */
  readonly holder: string;
  readonly config: LaneConfig;
  readonly gate: Gate;
  readonly sender: Sender;
  readonly clock: Clock;
  /** Waits until the server has the claim that an attempt's last beat carried; rejects unless it still wants it. */
  readonly confirm: (claim: Claim) => Promise<void>;
  /** Stores the lane's closure or pause; resolves when it is stored, or when the lane is no longer ours. */
  readonly store: () => Promise<void>;
}

/** The activity of a lane's slot: pace, call, verdict. */
export function laneActivities(parts: CallUpstreamParts): Pick<LaneActivities, 'callUpstream'> {
  return { callUpstream: (task) => new Attempt(parts, task, Context.current()).run() };
}

/** One attempt of one item, from taking the slot to freeing it. */
class Attempt {
  readonly #parts: CallUpstreamParts;
  readonly #task: CallTask;
  readonly #context: Context;
  readonly #number: number;
  #attempts: Attempts;

  constructor(parts: CallUpstreamParts, task: CallTask, context: Context) {
    this.#parts = parts;
    this.#task = task;
    this.#context = context;
    this.#number = context.info.attempt;
    const { heartbeatDetails, workflowExecution } = context.info;
    const attempts = readAttempts(heartbeatDetails, this.#number, task.account);
    // A reset takes a call along into another run, without its account, though the first run may have made it.
    const wasReset = workflowExecution?.runId !== task.run.id && heartbeatDetails === undefined;
    this.#attempts = wasReset ? afterReset(task.run.startedAtMs, attempts) : attempts;
  }

  /** Of the item's whole life: the server counts the attempts of each of its activities from 1. */
  get #lifeNumber(): number {
    return this.#attempts.before + this.#number;
  }

  async run(): Promise<CallOutcome> {
    // A third of the lease: two beats may get lost before the server takes us for lost.
    const beat = setInterval(() => this.#beat(), this.#task.policy.leaseMs / 3);
    try {
      this.#accountForLostWorkers();
      return await this.#callInTurn();
    } finally {
      clearInterval(beat);
    }
  }

  #beat(): void {
    this.#context.heartbeat(this.#attempts);
  }

  #record(attempts: Attempts): void {
    this.#attempts = attempts;
    // What the server gets with an attempt's end are the details of the last beat.
    this.#beat();
  }

  #accountForLostWorkers(): void {
    const scheduledAtMs = this.#context.info.scheduledTimestampMs;
    const circumstances = this.#circumstances(false);
    const { policy, round } = this.#task;
    this.#record(settleLost(this.#attempts, this.#number, round, policy, scheduledAtMs, circumstances));
  }

  async #callInTurn(): Promise<CallOutcome> {
    for (;;) {
      const turn = await this.#waitForTurn();
      try {
        const outcome = await this.#takeTurn();
        if (outcome !== undefined) return outcome;
      } finally {
        turn.end();
      }
    }
  }

  /** Undefined when the lane no longer let the call leave. */
  async #takeTurn(): Promise<CallOutcome | undefined> {
    const { policy, deadlineMs } = this.#task;
    const unfit = mayNotTry(this.#attempts, policy, deadlineMs, this.#parts.clock.epochMs());
    if (unfit !== undefined) return this.#conclude(unfit);
    await this.#claim();
    const sent = await this.#parts.sender.send(this.#request(), this.#task.key, this.#lifeNumber);
    return sent && (await this.#judge(sent));
  }

  async #waitForTurn(): Promise<Turn> {
    try {
      return await this.#parts.gate.enter(this.#context.cancellationSignal);
    } catch (error) {
      if (error instanceof GivenBack) this.#giveBack(error.message);
      // Cancelled, or paused by an operator, before anything left.
      this.#record(givenBack(this.#attempts, this.#number));
      throw error;
    }
  }

  /** Fails the attempt so that the item is at once in the queue again, its budget untouched. */
  #giveBack(because: string): never {
    this.#record(givenBack(this.#attempts, this.#number));
    throw ApplicationFailure.create({
      type: 'GivenBack',
      message: `not sent: ${because}`,
      // The server fails an activity for good whose next delay is 0.
      nextRetryDelay: 1,
      category: ApplicationFailureCategory.BENIGN,
    });
  }

  /**
   * Notes that the call leaves. Where the upstream takes no keys the server must have the note first: should
   * we die now, the note alone tells the next attempt that this one may have been applied.
   */
  async #claim(): Promise<void> {
    this.#record(claimed(this.#attempts, this.#number, this.#parts.holder, this.#parts.clock.epochMs()));
    if (this.#task.policy.idempotency !== null) return;
    try {
      const runId = this.#context.info.workflowExecution?.runId;
      await this.#parts.confirm({ key: this.#task.key, runId, attempt: this.#number });
    } catch (error) {
      this.#giveBack(
        `its claim was not confirmed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  /** The same bytes under the same key on every attempt. */
  #request(): UpstreamRequest {
    const { method, path, payload, key, correlationId, policy } = this.#task;
    return {
      method,
      path,
      // The lane's, whatever the item was admitted under: the lease is cut to it.
      timeoutMs: this.#parts.config.policy.delivery.timeoutMs,
      body: canonicalText(payload),
      headers: {
        ...this.#parts.config.headers,
        'Content-Type': 'application/json',
        ...(policy.idempotency === null ? {} : { [policy.idempotency.header]: key }),
        ...(correlationId === null ? {} : { 'X-Correlation-ID': correlationId }),
      },
    };
  }

  async #judge(sent: SentCall): Promise<CallOutcome> {
    const { config, gate, clock, store, holder } = this.#parts;
    const { policy, key, round } = this.#task;
    const { end, probe } = sent;
    const headers = end.kind === 'answered' ? end.headers : {};
    const retryAfter = parseRetryAfter(headers.retryAfter, headers.date, clock.epochMs());
    const retryAfterMs = retryAfter.usable ? retryAfter.delayMs : null;
    const verdict = verdictOf(end, policy, retryAfter.usable);
    const of = { call: 'send', attempt: this.#lifeNumber, round, holder } as const;
    const evidence = evidenceOf(end, verdict, of, clock.epochMs(), config.secrets);
    const { closedUntilMs, pausedBecause } = gate.state;
    // The lane first, and before the call counts as ended: the next one must find the lane as this one left it.
    gate.report({ key, verdict, end, probe, retryAfterMs });
    sent.close({ verdict, retryAfter: evidence.retryAfter, retryAfterMs });
    const holdMs = rateLimitHold(headers, gate.inFlight, config.retryAfterMaxMs);
    if (holdMs !== undefined) gate.hold(holdMs);

    this.#record(settle(this.#attempts, this.#number, verdict, evidence, this.#circumstances(probe)));
    // Stored before the slot is free again: what dies with this process would be an early call of the next.
    if (gate.state.closedUntilMs !== closedUntilMs || gate.state.pausedBecause !== pausedBecause)
      await store();
    return this.#conclude(
      decide(this.#attempts, verdict, end, policy, this.#circumstances(probe)),
      end,
      verdict,
    );
  }

  #circumstances(probe: boolean): Circumstances {
    const { gate, clock } = this.#parts;
    const firstThrottledAtMs = this.#attempts.firstThrottledAtMs;
    return {
      nowMs: clock.epochMs(),
      probe,
      laneClosedForMs: gate.closedForMs(),
      othersSucceed:
        firstThrottledAtMs !== null && gate.othersSucceededSince(firstThrottledAtMs, this.#task.key),
      random: Math.random(),
    };
  }

  #conclude(next: Next, end?: CallEnd, verdict?: Verdict): CallOutcome {
    switch (next.kind) {
      case 'succeeded': {
        if (end?.kind !== 'answered') throw new TypeError('an unanswered call was taken for a success');
        const at = new Date(this.#parts.clock.epochMs()).toISOString();
        return {
          kind: 'succeeded',
          receipt: receiptOf(end, this.#parts.config, this.#lifeNumber, at),
          attempts: this.#attempts,
        };
      }
      case 'park':
        return { kind: 'parked', state: next.state, reason: next.reason, attempts: this.#attempts };
      case 'retry': {
        if (end === undefined || verdict === undefined) throw new TypeError('a retry without an attempt');
        throw ApplicationFailure.create({
          type: verdict,
          message: `${describeEnd(end, verdict)}; next try in ${formatDuration(next.afterMs)}`,
          nextRetryDelay: next.afterMs,
          // Throttling is how a lane is meant to work; it should not look like an error.
          ...(verdict === 'throttled' ? { category: ApplicationFailureCategory.BENIGN } : {}),
        });
      }
    }
  }
}
