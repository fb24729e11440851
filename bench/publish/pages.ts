import type { PublishedItem } from '../../src/client.ts';
import { publish } from '../../src/client.ts';
import { pendingActivityOf } from '../../src/client/pending-activity.ts';
import { MAX_PAGE_ITEMS } from '../../src/domain/batch.ts';
import { LANE } from '../fleet/lanes-file.ts';
import { until } from '../fleet/until.ts';
import type { Stand } from './stand.ts';

const ADMITTED_WITHIN_MS = 300_000;
const QUEUED_WITHIN_MS = 120_000;

/** How many items per second are admitted by so many full pages, published at once. */
export async function pagesPerSecond(stand: Stand, batchId: string, pages: number): Promise<number> {
  const numbers = Array.from({ length: pages }, (_, page) => page);
  const begunAtMs = performance.now();
  await Promise.all(numbers.map((page) => publishPage(stand, batchId, page, MAX_PAGE_ITEMS)));
  const seconds = (performance.now() - begunAtMs) / 1_000;
  // What is measured next must not wait for these.
  for (const page of numbers) await untilQueued(stand, keyOf(batchId, page, MAX_PAGE_ITEMS - 1));
  return (pages * MAX_PAGE_ITEMS) / seconds;
}

export async function warmUp(stand: Stand): Promise<void> {
  await publishPage(stand, 'warm-up', 0, 50);
  await untilQueued(stand, keyOf('warm-up', 0, 49));
}

export async function publishPage(
  { client }: Stand,
  batchId: string,
  page: number,
  count: number,
): Promise<void> {
  const items = itemsOf(batchId, page, count);
  const { admissions } = await publish(
    client,
    { batchId, page, lane: LANE, items },
    { waitMs: ADMITTED_WITHIN_MS },
  );
  const other = admissions.find(({ admission }) => admission !== 'accepted');
  if (other !== undefined) throw new Error(`expected all to be accepted, got ${JSON.stringify(other)}`);
}

/** Items such as people send: some hundred bytes. */
export function itemsOf(batchId: string, page: number, count: number): PublishedItem[] {
  return Array.from({ length: count }, (_, n) => ({
    key: keyOf(batchId, page, n),
    payload: { package: `package-${n}`, version: `1.${page}.${n}`, channel: 'stable', note: 'x'.repeat(100) },
  }));
}

function keyOf(batchId: string, page: number, n: number): string {
  return `${batchId}:${page}:${n}`;
}

async function untilQueued({ client }: Stand, key: string): Promise<void> {
  await until(`${key} waits in its lane`, QUEUED_WITHIN_MS, async () => {
    const description = await client.workflow.getHandle(key).describe();
    return pendingActivityOf(description, 'callUpstream') !== undefined;
  });
}
