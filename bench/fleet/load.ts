import pMap from 'p-map';
import { batchStatus, itemRecord, publish } from '../../src/client.ts';
import type { PublishedItem } from '../../src/domain/item.ts';
import type { Findings } from './findings.ts';
import type { Fleet } from './fleet.ts';
import { LANE } from './lanes-file.ts';
import { until } from './until.ts';

/** While every process that dispatches is away, a batch is durable and unanswered; then it is asked for again. */
const ANSWER_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 500;
const RECORDS_AT_ONCE = 5;

/** Everything that a case publishes, and what must have become of it in the end. */
export class Load {
  readonly #fleet: Fleet;
  readonly #batches: string[] = [];
  readonly #keys: string[] = [];
  #feeding: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Publishes so many items more, named in order `item:0`, `item:1`, ... */
  async publish(count: number): Promise<void> {
    const first = this.#keys.length;
    const items = Array.from({ length: count }, (_, i): PublishedItem => ({
      key: `item:${first + i}`,
      payload: { number: first + i },
    }));
    await this.publishItems(items);
  }

  async publishItems(items: readonly PublishedItem[]): Promise<void> {
    const batchId = `batch-${this.#batches.length}`;
    this.#batches.push(batchId);
    this.#keys.push(...items.flatMap(({ key }) => key ?? []));
    const batch = { batchId, lane: LANE, publisher: 'bench', items: [...items] };
    for (;;) {
      const { admissions } = await publish(this.#fleet.client, batch, { waitMs: ANSWER_WITHIN_MS });
      const other = admissions.find(({ admission }) => admission !== 'accepted' && admission !== 'pending');
      if (other !== undefined) throw new Error(`expected every item accepted, got ${JSON.stringify(other)}`);
      if (admissions.every(({ admission }) => admission === 'accepted')) return;
    }
  }

  /** From now on there are always about this many items waiting, until `end`. */
  feed(waiting: number, perBatch: number): void {
    this.#feeding = this.#feed(waiting, perBatch);
    // Awaited in `end`; a case that fails before that has another error to tell.
    this.#feeding.catch(() => undefined);
  }

  async #feed(waiting: number, perBatch: number): Promise<void> {
    while (!this.#stopped) {
      const { effects } = await this.#fleet.door.stats();
      if (this.#keys.length - effects < waiting) await this.publish(perBatch);
      else await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** Publishes no more, and waits until every item is done upstream. */
  async end(withinMs: number): Promise<void> {
    this.#stopped = true;
    await this.#feeding;
    const all = `${this.#keys.length} items are done`;
    await until(
      all,
      withinMs,
      async () => (await this.#fleet.door.stats()).effects >= this.#keys.length,
      250,
    );
  }

  /** Nothing was lost, nothing parked, nothing done twice: as Temporal tells it, and as the upstream does. */
  async checkAccount(findings: Findings): Promise<void> {
    const { client, door } = this.#fleet;
    const totals = { accepted: 0, succeeded: 0, parked: 0 };
    for (const batchId of this.#batches) {
      const ended = async () => (await batchStatus(client, batchId)).counts.open === 0;
      await until(`${batchId} has ended`, ANSWER_WITHIN_MS * 3, ended, 200);
      const { counts } = await batchStatus(client, batchId);
      totals.accepted += counts.accepted;
      totals.succeeded += counts.succeeded;
      totals.parked += counts.dead + counts.uncertain;
    }
    findings.check('accepted', totals.accepted, { exactly: this.#keys.length });
    findings.check('succeeded', totals.succeeded, { exactly: this.#keys.length });
    findings.check('parked', totals.parked, { exactly: 0 });
    findings.check('effects', (await door.stats()).effects, { exactly: this.#keys.length });
  }

  /** No item had an attempt that spent budget; those that did are told, with their attempts by verdict. */
  async checkBudget(findings: Findings): Promise<void> {
    const recordOf = (key: string) => itemRecord(this.#fleet.client, key);
    const records = await pMap(this.#keys, recordOf, { concurrency: RECORDS_AT_ONCE });
    const spent = records.filter(({ attempts }) => attempts.unavailable + attempts.ambiguous > 0);
    findings.check('itemsThatSpentBudget', spent.length, { exactly: 0 });
    if (spent.length > 0)
      findings.tell(
        'spent',
        spent.map(({ key, attempts }) => ({ key, ...attempts })),
      );
  }
}
