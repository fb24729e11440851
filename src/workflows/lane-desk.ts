import {
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  setHandler,
  sleep,
  upsertMemo,
} from '@temporalio/workflow';
import type { ProcessActivities } from '../activities/contract.ts';
import { laneName, processTaskQueue } from '../domain/ids.ts';
import { type LaneRecord, close, noteFingerprint, noteOverride, viewOf } from '../domain/lane-record.ts';
import * as messages from './lane-messages.ts';
import { type Named, checkNamed } from './named.ts';

/** Takes in what operators, holders and publishers say to a lane, and passes on to its holder what it must know. */
export class LaneDesk {
  readonly #record: LaneRecord;
  #retiring = false;
  /** how often somebody opened the lane: who retires compares */
  openings = 0;

  constructor(record: LaneRecord) {
    this.#record = record;
    setHandler(messages.lane, () => record);
    setHandler(messages.opened, (by) => this.#opened(by));
    setHandler(messages.closed, (closure) => this.#closed(closure));
    setHandler(messages.pausedItself, (pause) => this.#pausedItself(pause));
    setHandler(
      messages.pause,
      async (act) => {
        this.#pause(act);
        return await this.#told();
      },
      { validator: named },
    );
    setHandler(
      messages.resume,
      async () => {
        if (record.paused !== null) {
          record.paused = null;
          // The holder starts its counters again when it sees that this has grown.
          record.resumed++;
          record.backoffMs = 0;
          record.version++;
        }
        return await this.#told();
      },
      { validator: named },
    );
    setHandler(
      messages.override,
      async ({ requests, maxInFlight, by, reason }) => {
        if (record.override?.requests !== requests || record.override.maxInFlight !== maxInFlight)
          noteOverride(record, { requests, maxInFlight, by, reason, atMs: Date.now() });
        return await this.#told();
      },
      { validator: (asked) => this.#checkOverride(asked) },
    );
    setHandler(
      messages.clearOverride,
      async ({ by, reason }) => {
        if (record.override !== null)
          noteOverride(record, { requests: null, maxInFlight: null, by, reason, atMs: Date.now() });
        return await this.#told();
      },
      { validator: named },
    );
    setHandler(
      messages.drain,
      ({ by, reason }) => {
        record.draining ??= { by, reason, atMs: Date.now() };
        upsertMemo({
          drainingBecause: `lane is being drained: ${record.draining.reason} (by ${record.draining.by})`,
        });
        return record;
      },
      { validator: named },
    );
  }

  #opened(by: messages.Opened): void {
    this.openings++;
    this.#retiring = false;
    if (by.process !== undefined && by.fingerprint !== undefined)
      noteFingerprint(this.#record, by.fingerprint, by.process, Date.now());
  }

  async #closed({ epoch, forMs, because, probing, backoffMs }: messages.Closed): Promise<void> {
    close(this.#record, forMs, because, Date.now());
    if (this.#isHeldSince(epoch)) {
      this.#record.probing = probing;
      this.#record.backoffMs = backoffMs;
    } else await this.#tellOfTheLate();
  }

  async #pausedItself({ epoch, reason, resumed }: messages.PausedItself): Promise<void> {
    if (resumed < this.#record.resumed) return;
    this.#pause({ by: 'onelane', reason });
    if (!this.#isHeldSince(epoch)) await this.#tellOfTheLate();
  }

  /** The holder itself learned it and has it already, so that nobody needs to be told. */
  #isHeldSince(epoch: number): boolean {
    return this.#record.holder?.epoch === epoch;
  }

  /** What a holder learned has arrived only after the next one was given the lane. */
  async #tellOfTheLate(): Promise<void> {
    this.#record.version++;
    await this.#told();
  }

  #pause({ by, reason }: Named): void {
    if (this.#record.paused !== null) return;
    this.#record.paused = { by, reason, atMs: Date.now() };
    this.#record.version++;
  }

  #checkOverride(asked: messages.OverrideAsked): void {
    named(asked);
    check('requests', asked.requests, messages.MOST_REQUESTS);
    check('maxInFlight', asked.maxInFlight, messages.MOST_IN_FLIGHT);
    if (asked.requests === null && asked.maxInFlight === null)
      throw invalid('expected requests, maxInFlight or both');
    const requests = asked.requests ?? this.#record.holder?.limit.requests;
    if (requests !== undefined && asked.maxInFlight !== null && asked.maxInFlight > requests)
      throw invalid(`maxInFlight: expected at most requests (${requests}), got ${asked.maxInFlight}`);
  }

  /** Resolves when the holder has today's view and no call from before it is open; or when there is no holder. */
  async #told(): Promise<LaneRecord> {
    for (;;) {
      const { holder } = this.#record;
      // Whoever comes next is given today's view with the lane.
      if (holder === null) return this.#record;
      const { changeLane } = proxyActivities<ProcessActivities>({
        taskQueue: processTaskQueue(holder.process),
        scheduleToStartTimeout: '1s',
        // Long enough for the call in flight to end.
        startToCloseTimeout: holder.leaseMs,
        retry: { maximumAttempts: 1 },
      });
      const { lane, partition } = this.#record;
      try {
        await changeLane({
          name: laneName(lane, partition),
          epoch: holder.epoch,
          view: viewOf(this.#record, Date.now()),
        });
        return this.#record;
      } catch (error) {
        if (isCancellation(error)) throw error;
        // Unreachable: soon it answers, or it is no longer the holder.
        if (this.#record.holder === holder) await sleep('200ms');
      }
    }
  }

  /** Whether anything is kept here that must outlive a quiet time. */
  mayRetire(): boolean {
    const { paused, draining, override, closedUntilMs } = this.#record;
    return paused === null && draining === null && override === null && closedUntilMs <= Date.now();
  }

  retire(): void {
    this.#retiring = true;
  }

  retires(): boolean {
    return this.#retiring && this.mayRetire();
  }
}

function named(act: Named): void {
  checkNamed(act, 'LaneRefused');
}

function check(name: string, value: number | null, most: number): void {
  if (value === null || (Number.isInteger(value) && value >= 1 && value <= most)) return;
  throw invalid(`${name}: expected a whole number from 1 to ${most}, got ${value}`);
}

function invalid(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, 'LaneRefused');
}
