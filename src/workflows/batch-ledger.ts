import {
  type Admission,
  type Batch,
  type BatchOrders,
  type BatchProgress,
  type ItemEnding,
  countBatch,
  endingOf,
} from '../domain/batch.ts';
import type { ItemEnd } from '../domain/delivery.ts';
import { type ItemState, hasEnded, isParked } from '../domain/item.ts';

/** Keeps what a batch knows of its positions and of its accepted items, and nothing else. */
export class BatchLedger {
  readonly #batch: Batch;
  readonly #content: string;
  readonly #admissions: Admission[];
  readonly #states = new Map<string, ItemState>();
  /** what items said before their admission was known here; never counted for a key that isn't ours */
  readonly #early = new Map<string, ItemState>();
  readonly #ends = new Map<string, ItemEnding>();
  readonly #adopted = new Set<string>();
  /** those of the adopted that have neither ended nor parked: their end must be asked for */
  readonly stragglers = new Set<string>();

  constructor(batch: Batch, content: string) {
    this.#batch = batch;
    this.#content = content;
    this.#admissions = batch.items.map((_, position) => ({ position, key: null, admission: 'pending' }));
  }

  answer(admissions: readonly Admission[]): void {
    for (const admission of admissions) {
      this.#admissions[admission.position] = admission;
      if (admission.admission === 'accepted')
        this.#states.set(admission.key, this.#early.get(admission.key) ?? 'waiting');
    }
  }

  /** No child handle tells how it ends: an earlier run of this batch has started it. */
  adopt(key: string, state: ItemState): void {
    this.#adopted.add(key);
    this.moved(key, state);
  }

  /** An item has parked, or left the park. */
  moved(key: string, state: ItemState): void {
    this.settled(key, state);
    if (this.#adopted.has(key) && !isParked(state) && !hasEnded(state)) this.stragglers.add(key);
  }

  /** An item has ended or parked. */
  settled(key: string, state: ItemState): void {
    this.stragglers.delete(key);
    if (this.#states.has(key)) this.#states.set(key, state);
    else this.#early.set(key, state);
  }

  /** A child of this run has ended, and says how. */
  ended(key: string, end: ItemEnd): void {
    this.#ends.set(key, endingOf(end));
    this.settled(key, end.state);
  }

  admissionAt(position: number): Admission {
    const admission = this.#admissions[position];
    if (admission === undefined) throw new RangeError(`position ${position} is not in this batch`);
    return admission;
  }

  admissions(): Admission[] {
    return [...this.#admissions];
  }

  get admitted(): boolean {
    return this.#admissions.every(({ admission }) => admission !== 'pending');
  }

  allSettled(): boolean {
    return [...this.#states.values()].every((state) => isParked(state) || hasEnded(state));
  }

  progress(): Omit<BatchProgress, keyof BatchOrders> {
    const states = Object.fromEntries(this.#states);
    return {
      batchId: this.#batch.batchId,
      lane: this.#batch.lane,
      content: this.#content,
      admitted: this.admitted,
      admissions: this.admissions(),
      states,
      ends: Object.fromEntries(this.#ends),
      counts: countBatch(this.#admissions, states),
    };
  }
}
