import { Context } from '@temporalio/activity';
import { type Attempts, afterReset, readAttempts } from '../domain/attempts.ts';
import type { CallOutcome, CallTask, Receipt } from '../domain/delivery.ts';
import { describeEvidence } from '../domain/evidence.ts';
import { type Park, type Terms, decide, nextStep } from '../domain/next.ts';
import {
  type Circumstances,
  claimed,
  givenBack,
  rested,
  settle,
  settleLookup,
  settleLost,
} from '../domain/settle.ts';
import { verdictOf } from '../domain/verdict.ts';
import type { Claim } from '../lane/confirm-claim.ts';
import { GivenBack } from '../lane/gate.ts';
import type { Turn } from '../lane/turns.ts';
import type { LaneActivities } from './contract.ts';
import { ask, lookUp } from './look-up.ts';
import { receiptOf } from './receipt.ts';
import { type JudgedCall, type SlotParts, callInSlot, tryAgain, unsent, whileBeating } from './slot.ts';
import { sendRequest } from './upstream-request.ts';

export interface LaneActivityParts extends SlotParts {
  /** Waits until the server has the claim that an attempt's last beat carried; rejects unless it still wants it. */
  readonly confirm: (claim: Claim) => Promise<void>;
}

/** The activities of a lane's slot: pace, call, verdict. */
export function laneActivities(parts: LaneActivityParts): LaneActivities {
  return {
    callUpstream: (task) => new Attempt(parts, task, Context.current()).run(),
    lookUp: (task) => lookUp(parts, task, Context.current()),
  };
}

/** One attempt of one item, from taking the slot to freeing it. */
class Attempt {
  readonly #parts: LaneActivityParts;
  readonly #task: CallTask;
  readonly #terms: Terms;
  readonly #context: Context;
  readonly #number: number;
  #attempts: Attempts;

  constructor(parts: LaneActivityParts, task: CallTask, context: Context) {
    this.#parts = parts;
    this.#task = task;
    // Calls are cut by the lane's timeout, which may be longer by now than the item's: whatever waits for a call that
    // may still arrive waits for the longer one.
    const timeoutMs = Math.max(task.policy.timeoutMs, parts.config.policy.delivery.timeoutMs);
    this.#terms = { ...task, policy: { ...task.policy, timeoutMs } };
    this.#context = context;
    this.#number = context.info.attempt;
    const { heartbeatDetails, workflowExecution } = context.info;
    const attempts = readAttempts(heartbeatDetails, this.#number, task.account);
    // A reset takes a call along into another run, without its account, though the first run may have made it.
    const wasReset = workflowExecution?.runId !== task.run.id && heartbeatDetails === undefined;
    this.#attempts = wasReset ? afterReset(task.run.startedAtMs, attempts) : attempts;
  }

  /** As evidence counts: the server counts the attempts of each of an item's activities from 1. */
  get #of() {
    return { attempt: this.#attempts.before + this.#number, round: this.#task.round };
  }

  async run(): Promise<CallOutcome> {
    const account = () => this.#attempts;
    return await whileBeating(this.#context, this.#task.policy.leaseMs, account, async () => {
      this.#accountForLostWorkers();
      for (;;) {
        const turn = await this.#waitForTurn();
        try {
          const outcome = await this.#takeTurn();
          if (outcome !== undefined) return outcome;
        } finally {
          turn.end();
        }
      }
    });
  }

  #record(attempts: Attempts): void {
    this.#attempts = attempts;
    // What the server gets with an attempt's end are the details of the last beat.
    this.#context.heartbeat(attempts);
  }

  /**
   * That the work is done reaches the server with the activity's end, and not in a beat before it. Should the end get
   * lost, the next attempt has nothing but the beats, and has to find in them that the work may have been done.
   */
  #recordUnless(done: boolean, attempts: Attempts): void {
    if (!done) this.#record(attempts);
  }

  #accountForLostWorkers(): void {
    const { round, policy } = this.#task;
    const scheduledAtMs = this.#context.info.scheduledTimestampMs;
    const circumstances = this.#circumstances(false);
    this.#record(settleLost(this.#attempts, this.#number, round, policy, scheduledAtMs, circumstances));
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

  /** Undefined when the turn did not decide about the item: wait for another. */
  async #takeTurn(): Promise<CallOutcome | undefined> {
    const step = nextStep(this.#attempts, this.#terms, this.#parts.clock.epochMs());
    switch (step.kind) {
      case 'park':
        return this.#park(step);
      case 'rest':
        // The server keeps the time: a clock of ours may have stood still.
        return this.#retry('Rests', 'an earlier call may still arrive before it is looked up', step.forMs);
      case 'lookUp':
        return await this.#lookUp();
      case 'send':
        return await this.#send();
    }
  }

  /** Fails the attempt so that the item is at once in the queue again, its budget untouched. */
  #giveBack(because: string): never {
    this.#record(givenBack(this.#attempts, this.#number));
    throw unsent(because);
  }

  async #send(): Promise<CallOutcome | undefined> {
    const parts = this.#parts;
    const task = this.#task;
    await this.#claim();
    const called = await callInSlot(parts, {
      request: sendRequest(task, parts.config),
      key: task.key,
      of: { ...this.#of, call: 'send' },
      judge: (end, retryAfterUsable) => verdictOf(end, task.policy, retryAfterUsable),
    });
    if (called === undefined) return undefined;
    const { verdict, evidence, probe } = called;
    const settled = settle(this.#attempts, this.#number, verdict, evidence, this.#circumstances(probe));
    this.#recordUnless(verdict === 'succeeded', settled);
    await called.stored();
    return this.#follow(called, settled, 'answer');
  }

  /**
   * Notes that the call leaves. Where the upstream takes no keys the server must have the note first: should
   * we die now, the note alone tells the next attempt that this one may have been applied.
   */
  async #claim(): Promise<void> {
    const { holder, clock, confirm } = this.#parts;
    this.#record(claimed(this.#attempts, this.#number, holder, clock.epochMs()));
    if (this.#task.policy.idempotency !== null) return;
    try {
      const runId = this.#context.info.workflowExecution?.runId;
      await confirm({ key: this.#task.key, runId, attempt: this.#number });
    } catch (error) {
      this.#giveBack(
        `its claim was not confirmed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  async #lookUp(): Promise<CallOutcome | undefined> {
    const { lookupPath: path, ...task } = this.#task;
    if (path === null) throw new TypeError('a lookup without a path');
    const asked = await ask(this.#parts, { ...task, path }, this.#of);
    if (asked === undefined) return undefined;
    const { reading, verdict, evidence, probe } = asked;
    const settled = settleLookup(this.#attempts, reading, verdict, evidence, this.#circumstances(probe));
    this.#recordUnless(reading.kind === 'found', settled);
    await asked.stored();
    // Not done: it may be sent now, in a turn of its own.
    if (reading.kind === 'absent') return undefined;
    return this.#follow(asked, settled, 'lookup');
  }

  #follow(
    { end, verdict, evidence, probe }: JudgedCall,
    settled: Attempts,
    foundBy: Receipt['foundBy'],
  ): CallOutcome {
    const { config } = this.#parts;
    const next = decide(settled, verdict, this.#terms, this.#circumstances(probe));
    switch (next.kind) {
      case 'succeeded': {
        if (end.kind !== 'answered') throw new TypeError('an unanswered call was taken for a success');
        const receipt = receiptOf(end, config, foundBy, evidence.attempt, evidence.at);
        return { kind: 'succeeded', receipt, attempts: settled };
      }
      case 'park':
        return this.#park(next);
      case 'retry':
        return this.#retry(verdict, describeEvidence(evidence), next.afterMs);
    }
  }

  #park({ state, reason }: Park): CallOutcome {
    return { kind: 'parked', state, reason, attempts: this.#attempts };
  }

  /** Also ends an attempt that a lookup had left open, in case that the work may be sent in it. */
  #retry(because: string, message: string, afterMs: number): never {
    const { timeoutMs } = this.#terms.policy;
    this.#record(rested(givenBack(this.#attempts, this.#number), afterMs, timeoutMs));
    throw tryAgain(because, message, afterMs);
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
}
