import type { Client } from '@temporalio/client';
import pMap from 'p-map';
import { type Admission, MAX_PAGE_BYTES, MAX_PAGE_ITEMS } from '../domain/batch.ts';
import { boundDepth, canonicalText, utf8Length } from '../domain/canonical.ts';
import { UnansweredError } from './errors.ts';
import { publish } from './publish.ts';

/** More pages at once contend for the same server, and none is answered sooner. */
const PAGES_AT_ONCE = 4;

export interface WholeBatch {
  readonly batchId: string;
  readonly lane: string;
  readonly publisher: string;
  readonly items: readonly unknown[];
}

/** How many items were answered how. */
export type AdmissionCounts = { readonly [kind in Exclude<Admission['admission'], 'pending'>]: number };

/**
 * Publishes a batch of any length that is known whole, in pages that are the same whoever publishes it again.
 *
 * @throws UnansweredError when nobody answers in time; publishing again asks again
 * @throws as `publish`
 */
export async function publishWhole(
  client: Client,
  { items, ...batch }: WholeBatch,
): Promise<AdmissionCounts> {
  const counts = { accepted: 0, duplicate: 0, conflict: 0, rejected: 0 };
  const pages = pagesOf(items);
  await pMap(
    pages,
    async (page, number) => {
      const known = { pages: pages.length, total: items.length };
      const { admissions } = await publish(client, { ...batch, ...known, page: number, items: page });
      for (const { admission } of admissions) {
        if (admission === 'pending')
          throw new UnansweredError(`batch ${batch.batchId}, page ${number}: no worker has answered yet`);
        counts[admission]++;
      }
    },
    { concurrency: PAGES_AT_ONCE },
  );
  return counts;
}

function pagesOf(items: readonly unknown[]): unknown[][] {
  const pages: unknown[][] = [];
  let page: unknown[] = [];
  // Brackets, and a comma behind each item.
  let bytes = 2;
  for (const item of items) {
    const itemBytes = utf8Length(canonicalText(boundDepth(item))) + 1;
    if (page.length === MAX_PAGE_ITEMS || (page.length > 0 && bytes + itemBytes > MAX_PAGE_BYTES)) {
      pages.push(page);
      page = [];
      bytes = 2;
    }
    page.push(item);
    bytes += itemBytes;
  }
  if (page.length > 0) pages.push(page);
  return pages;
}
