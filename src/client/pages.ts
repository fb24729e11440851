import { MAX_PAGE_BYTES, MAX_PAGE_ITEMS, contentHash } from '../domain/batch.ts';
import { boundDepth, canonicalText, digest, utf8Length } from '../domain/canonical.ts';
import { carriable, givenKey } from './carriable.ts';

/** A batch of any length, as it is known once its last item was seen. */
export interface Whole {
  readonly pages: number;
  /** how many items all pages hold */
  readonly total: number;
  /** what makes two of them the same: the `contentHash` of each page, one after the other */
  readonly content: string;
}

/** One page, cut from a batch. The same items make the same pages, whoever cuts them and whenever. */
export interface Page {
  readonly page: number;
  /** the position in the whole batch of the first of its items */
  readonly first: number;
  readonly items: readonly unknown[];
  /** null: more may follow */
  readonly whole: Whole | null;
}

export type Items = Iterable<unknown> | AsyncIterable<unknown>;

/** Cuts items into pages, each as full as may be, holding two of them at a time. */
export async function* pagesOf(lane: string, items: Items): AsyncGenerator<Page> {
  let page = 0;
  let first = 0;
  let content = '';
  let held: readonly unknown[] | undefined;
  const cut = (isLast: boolean, mine: readonly unknown[]): Page => {
    const hash = contentHash({ lane, page, items: [...mine] });
    // A batch of one page is the batch that it would be without pages.
    content = page === 0 ? hash : digest([content, hash]);
    const total = first + mine.length;
    const whole = isLast ? { pages: page + 1, total, content } : null;
    const cutPage = { page, first, items: mine, whole };
    page += 1;
    first = total;
    return cutPage;
  };
  for await (const full of fillings(items)) {
    if (held !== undefined) yield cut(false, held);
    held = full;
  }
  if (held !== undefined) yield cut(true, held);
}

/** Counts and hashes a batch without publishing it; undefined when it has no items. */
export async function survey(lane: string, items: Items): Promise<Whole | undefined> {
  let whole: Whole | undefined;
  for await (const page of pagesOf(lane, items)) whole = page.whole ?? undefined;
  return whole;
}

async function* fillings(items: Items): AsyncGenerator<readonly unknown[]> {
  let page: unknown[] = [];
  // As the canonical text of an array has it: a bracket and as many commas as items, with the other bracket.
  let bytes = 1;
  for await (const raw of items) {
    const { item, size } = measured(raw);
    if (page.length === MAX_PAGE_ITEMS || bytes + size + 1 > MAX_PAGE_BYTES) {
      yield page;
      page = [];
      bytes = 1;
    }
    page.push(item);
    bytes += size + 1;
  }
  if (page.length > 0) yield page;
}

/** An item that no page could carry keeps its position, and is rejected there. */
function measured(raw: unknown): { item: unknown; size: number } {
  const item = carriable(raw);
  const size = sizeOf(item);
  if (size + 2 <= MAX_PAGE_BYTES) return { item, size };
  const instead = { unreadable: `item: expected at most 1 MiB, got ${size} bytes`, ...givenKey(raw) };
  return { item: instead, size: sizeOf(instead) };
}

function sizeOf(item: unknown): number {
  return utf8Length(canonicalText(boundDepth(item)));
}
