import type { Client } from '@temporalio/client';
import { pMapIterable } from 'p-map';
import type { Admission, Batch } from '../domain/batch.ts';
import { batchWorkflowId } from '../domain/ids.ts';
import { givenKey } from './carriable.ts';
import { BatchRefusedError } from './errors.ts';
import { describeOrUndefined } from './key-holder.ts';
import { type Items, type Page, type Whole, pagesOf, survey } from './pages.ts';
import {
  DEFAULT_WAIT_MS,
  type PublishOptions,
  type Published,
  isOfAnotherWhole,
  publishPage,
  taken,
} from './publish.ts';

/** Enough to keep a small server busy; more of them only wait longer for each other. */
const PAGES_AT_ONCE = 4;
/** Pages that are read or answered already while an earlier one isn't. They are all that is held in memory. */
const PAGES_HELD = 8;

/** A batch of any length. */
export interface LongBatch extends Pick<Batch, 'batchId' | 'lane' | 'publisher'> {
  /** read once, as fast as they are published */
  readonly items: Items;
  /** `survey` of the same items, when they can be read twice: what came of a batch is then told sooner and better */
  readonly whole?: Whole;
}

/** What became of one page. Its positions are those in the whole batch. */
export interface PublishedPage extends Published {
  readonly page: number;
  /** of the whole batch, as far as it is known yet: with the last page at the latest */
  readonly whole: Whole | null;
}

/**
 * Publishes a batch of any length, page by page, a few at a time, and yields what became of each, in order. Stopped
 * in the middle, however hard, the same batch published again goes on from there and gives the same admissions.
 *
 * Once a page was not answered in time, those after it are only made durable, and are `pending`.
 *
 * @throws what `publish` throws, in place of the first page concerned; the pages before it stand
 */
export async function* publishPages(
  client: Client,
  { batchId, lane, publisher, items, whole: told }: LongBatch,
  options: PublishOptions = {},
): AsyncGenerator<PublishedPage> {
  const whole = told ?? (Array.isArray(items) ? await survey(lane, items) : undefined);
  if (whole !== undefined) await refuseOtherWhole(client, batchId, whole);
  const turns = new Turns();
  let idTaken: Promise<void> | undefined;
  // Those that are published at once share a worker, and wait for each other.
  let waitMs = (options.waitMs ?? DEFAULT_WAIT_MS) * Math.min(whole?.pages ?? PAGES_AT_ONCE, PAGES_AT_ONCE);

  const publishOne = async (page: Page): Promise<PublishedPage> => {
    if (whole !== undefined && page.whole !== null && page.whole.content !== whole.content)
      throw new BatchRefusedError('items: they changed while they were read; publish them again');
    const known = whole ?? page.whole;
    const batch = {
      batchId,
      page: page.page,
      lane,
      items: [...page.items],
      ...(publisher === undefined ? {} : { publisher }),
      ...(known === null ? {} : { pages: known.pages, total: known.total }),
    };
    if (known?.pages !== 1) idTaken ??= takeId(client, batch, known);
    const published = await turns.take(page, async () => {
      await idTaken;
      return await publishPage(client, batch, { waitMs }, known?.content ?? null);
    });
    if (!published.answered) waitMs = 0;
    const admissions = published.admissions.map((one) => placed(one, page.first));
    return { ...published, admissions, page: page.page, whole: known };
  };

  let none = true;
  const pages = pMapIterable(pagesOf(lane, items), publishOne, {
    concurrency: PAGES_AT_ONCE,
    backpressure: PAGES_HELD,
  });
  for await (const published of pages) {
    none = false;
    yield published;
  }
  if (none) throw new BatchRefusedError('items: expected at least one item, got an empty batch');
}

/**
 * Makes the first page durable before any other is published. Of two batches that ask for one ID at the same time, one
 * has it then, and nothing of the other is started: else each would have some of the pages, and both be refused.
 */
async function takeId(client: Client, firstPage: Batch, whole: Whole | null): Promise<void> {
  await publishPage(client, firstPage, { waitMs: 0 }, whole?.content ?? null);
  // The other may differ on a later page only.
  if (whole !== null) await refuseOtherWhole(client, firstPage.batchId, whole);
}

/** Before the first page, since a batch that differs on a later one must not be mixed with what is known. */
async function refuseOtherWhole(client: Client, batchId: string, whole: Whole): Promise<void> {
  const first = await describeOrUndefined(client, batchWorkflowId(batchId));
  if (first !== undefined && isOfAnotherWhole(first, whole.content)) throw taken({ batchId });
}

/** Positions within the page become those within the batch. */
function placed(admission: Admission, first: number): Admission {
  const position = first + admission.position;
  if ('of' in admission && admission.of !== undefined)
    return { ...admission, position, of: first + admission.of };
  return { ...admission, position };
}

/** Of pages that name the same key, the earlier one is first: else either might win it. */
class Turns {
  readonly #before: { keys: ReadonlySet<string>; done: Promise<unknown> }[] = [];

  async take<T>({ items }: Page, publish: () => Promise<T>): Promise<T> {
    const keys = new Set(items.flatMap((item) => givenKey(item).key ?? []));
    const shared = this.#before.filter((earlier) => [...keys].some((key) => earlier.keys.has(key)));
    const done = Promise.all(shared.map((earlier) => earlier.done)).then(publish);
    const turn = { keys, done };
    this.#before.push(turn);
    try {
      return await done;
    } finally {
      this.#before.splice(this.#before.indexOf(turn), 1);
    }
  }
}
