import { pagesPerSecond, publishPage } from './pages.ts';
import type { Stand } from './stand.ts';

const PAGES = 4;

/** How long batches of one item wait for their answers while full pages are admitted: the longest, in ms. */
export async function longestAnswerMs(stand: Stand): Promise<number> {
  const over = new AbortController();
  const bulk = pagesPerSecond(stand, 'busy', PAGES).finally(() => over.abort());
  let longest = 0;
  for (let n = 0; !over.signal.aborted; n++) {
    const askedAtMs = performance.now();
    await publishPage(stand, `meanwhile-${n}`, 0, 1);
    longest = Math.max(longest, performance.now() - askedAtMs);
  }
  await bulk;
  return longest;
}
