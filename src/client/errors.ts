import type { ItemAnswer } from '../domain/orders.ts';

/** The batch as a whole can't be dispatched, and none of its items was started. Mend what the message names. */
export class BatchRefusedError extends Error {
  override readonly name = 'BatchRefusedError';
  /** it holds more items or bytes than a page may */
  readonly isTooLarge: boolean;

  constructor(message: string, { isTooLarge = false } = {}) {
    super(message);
    this.isTooLarge = isTooLarge;
  }
}

/** The batchId belongs to a batch with other content. Publish under another one. */
export class BatchIdTakenError extends Error {
  override readonly name = 'BatchIdTakenError';
}

/** Nothing is known under this name, or not any more: Temporal keeps closed workflows for its retention only. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

/** An item does not do what was asked. The message says why; `answer` says where it stands, as far as it told. */
export class ItemRefusedError extends Error {
  override readonly name = 'ItemRefusedError';
  readonly answer: ItemAnswer | null;

  constructor(message: string, answer: ItemAnswer | null) {
    super(message);
    this.answer = answer;
  }
}

/** A lane does not do what an operator asked. The message names the field, what was expected and what came. */
export class LaneRefusedError extends Error {
  override readonly name = 'LaneRefusedError';
}

/** Temporal is there, but no worker answered in time. What was asked may still take effect; ask again. */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError';
}

/** Not a mark from which this export could go on. The message says what was expected and what came. */
export class MarkRefusedError extends Error {
  override readonly name = 'MarkRefusedError';
}

/** A schedule can't be so. The message says what was expected and what came. */
export class ScheduleRefusedError extends Error {
  override readonly name = 'ScheduleRefusedError';
}

/** Temporal did not take it in time, so that nobody knows whether it is durable. Publish again. */
export class NotStoredError extends Error {
  override readonly name = 'NotStoredError';
}
