import { ApplicationFailure, condition, setHandler, upsertMemo } from '@temporalio/workflow';
import {
  type Batch,
  type BatchAnswer,
  type BatchOrders,
  BatchOrdersSchema,
  type BatchProgress,
} from '../domain/batch.ts';
import type { BatchLedger } from './batch-ledger.ts';
import * as messages from './messages.ts';
import { type Named, checkNamed } from './named.ts';

/** Answers whoever asks a batch where it stands, and takes what operators say of it as a whole. */
export class BatchDesk {
  readonly #ledger: BatchLedger;
  /** In the memo, too: later runs and pages of the batch go on by them. */
  #orders: BatchOrders = { held: null, discarded: null };
  #prepared = false;
  #refusal: ApplicationFailure | undefined;

  constructor(batch: Batch, content: string, ledger: BatchLedger) {
    this.#ledger = ledger;
    setHandler(messages.progress, () => this.progress());
    setHandler(messages.moved, ({ key, state }) => ledger.moved(key, state));
    setHandler(
      messages.admissions,
      async () => {
        await this.#until(() => ledger.admitted);
        return ledger.admissions();
      },
      { validator: (asked) => refuseOtherContent(batch, content, asked) },
    );
    // Twice the same changes nothing: who was first, and why, stays.
    setHandler(
      messages.holdBatch,
      ({ by, reason }) => this.#order(({ held }) => ({ held: held ?? { by, reason } })),
      { validator: named },
    );
    setHandler(messages.releaseBatch, () => this.#order(() => ({ held: null })), { validator: named });
    setHandler(
      messages.discardRest,
      ({ by, reason }) => this.#order(({ discarded }) => ({ discarded: discarded ?? { by, reason } })),
      { validator: named },
    );
  }

  get orders(): BatchOrders {
    return this.#orders;
  }

  progress(): BatchProgress {
    return { ...this.#ledger.progress(), ...this.#orders };
  }

  /** Goes on by what the batch was told before this run or page of it started. */
  takeUp(orders: BatchOrders | undefined): void {
    this.#orders = BatchOrdersSchema.parse(orders ?? {});
    if (this.#orders.held !== null || this.#orders.discarded !== null) upsertMemo({ ...this.#orders });
    this.#prepared = true;
  }

  /** Whoever waits for an answer is told why there will be none. */
  refuse(refusal: ApplicationFailure): void {
    this.#refusal = refusal;
  }

  /** Resolves once every item that was being started meanwhile is there, so that the caller finds it, and can tell it. */
  async #order(change: (orders: BatchOrders) => Partial<BatchOrders>): Promise<BatchAnswer> {
    // After what was told before it, which is older.
    await this.#until(() => this.#prepared);
    this.#orders = { ...this.#orders, ...change(this.#orders) };
    upsertMemo({ ...this.#orders });
    await this.#until(() => this.#ledger.admitted);
    return { ...this.#orders, counts: this.#ledger.progress().counts };
  }

  async #until(holds: () => boolean): Promise<void> {
    await condition(() => holds() || this.#refusal !== undefined);
    if (this.#refusal !== undefined) throw this.#refusal;
  }
}

function named(asked: Named): void {
  checkNamed(asked, 'BatchRefused');
}

function refuseOtherContent(batch: Batch, content: string, asked: string | undefined): void {
  if (asked !== undefined && asked !== content) throw batchIdTaken(batch);
}

export function batchIdTaken(batch: Batch): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `batchId: "${batch.batchId}" is taken by a batch with other content`,
    'BatchIdTaken',
  );
}
