import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { type Page, pagesOf, survey } from '../../src/client/pages.ts';
import { MAX_PAGE_ITEMS, contentHash, parseBatch } from '../../src/domain/batch.ts';

async function cut(items: readonly unknown[]): Promise<Page[]> {
  const pages: Page[] = [];
  for await (const page of pagesOf('releases', items)) pages.push(page);
  return pages;
}

/** Items of very different sizes, so that now the number and now the bytes make a page full. */
const anyItems = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 400_000 }), fc.integer({ min: 1, max: 400 })), { maxLength: 12 })
  .map((runs) =>
    runs.flatMap(([size, count]) =>
      Array.from({ length: size > 20_000 ? 1 : count }, (_, n) => ({ n, payload: 'é'.repeat(size / 2) })),
    ),
  );

describe('the pages of a batch', () => {
  it('hold any items in order, none of them twice or not at all, and each page can be published', async () => {
    await fc.assert(
      fc.asyncProperty(anyItems, async (items) => {
        const pages = await cut(items);
        assert.deepEqual(
          pages.flatMap((page) => page.items),
          items,
        );
        for (const { page, first, items: mine } of pages) {
          assert.equal(parseBatch({ batchId: 'b', lane: 'releases', page, items: [...mine] }).ok, true);
          assert.deepEqual(mine[0], items[first]);
        }
        assert.deepEqual(
          pages.map(({ page }) => page),
          pages.map((_, index) => index),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('are as full as may be: the first item of the next one would not fit', async () => {
    await fc.assert(
      fc.asyncProperty(anyItems, async (items) => {
        const pages = await cut(items);
        pages.slice(1).forEach(({ items: [next] }, index) => {
          const fuller = [...(pages[index]?.items ?? []), next];
          assert.equal(parseBatch({ batchId: 'b', lane: 'releases', items: fuller }).ok, false);
        });
      }),
      { numRuns: 30 },
    );
  });

  it('are the same from a stream as from a list, and only the last one knows the whole', async () => {
    const items = Array.from({ length: 2 * MAX_PAGE_ITEMS + 1 }, (_, n) => ({ n }));
    async function* stream(): AsyncGenerator {
      yield* items;
    }
    const streamed: Page[] = [];
    for await (const page of pagesOf('releases', stream())) streamed.push(page);
    assert.deepEqual(streamed, await cut(items));
    const whole = await survey('releases', items);
    assert.deepEqual([whole?.pages, whole?.total], [3, items.length]);
    assert.deepEqual(
      streamed.map((page) => page.whole),
      [null, null, whole],
    );
  });

  it('have another content as a whole when one item is another, on any page', async () => {
    const items = Array.from({ length: 1_200 }, (_, n) => ({ n }));
    const same = await survey('releases', items);
    for (const changed of [0, 700, 1_199]) {
      const other = items.map((item, n) => (n === changed ? { n: -1 } : item));
      assert.notEqual((await survey('releases', other))?.content, same?.content);
    }
    assert.notEqual((await survey('other', items))?.content, same?.content);
  });

  it('are one page for a short batch, with the content that the batch has without pages', async () => {
    const items = [{ key: 'a', payload: 1 }];
    const whole = await survey('releases', items);
    assert.equal(whole?.content, contentHash({ lane: 'releases', items }));
    assert.equal(await survey('releases', []), undefined);
  });

  it('hold what is wrong with an item that no page could carry, in its place', async () => {
    const [page] = await cut([1, { key: 'long', payload: 'x'.repeat(2 ** 20) }, 3]);
    assert.deepEqual(page?.items, [
      1,
      { unreadable: 'item: expected at most 1 MiB, got 1048603 bytes', key: 'long' },
      3,
    ]);
  });
});
