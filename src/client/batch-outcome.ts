import type { ItemOutcome } from './tell-items.ts';

/** What came of what was done to a batch. */
export interface BatchOutcome {
  readonly batchId: string;
  /** of all items that it was for: those that had not ended before */
  readonly counts: { readonly [outcome in ItemOutcome['outcome']]: number };
  /** those for which it does not hold, in order */
  readonly notDone: ItemOutcome[];
}

/**
 * Does it to the end, and sums up what came of each item.
 *
 * @param mostListed of those for which it does not hold no more are listed; all are counted
 */
export async function batchOutcome(
  batchId: string,
  acting: AsyncIterable<ItemOutcome>,
  mostListed = Infinity,
): Promise<BatchOutcome> {
  const counts = { done: 0, ended: 0, refused: 0, unanswered: 0, pending: 0 };
  const notDone: ItemOutcome[] = [];
  for await (const item of acting) {
    counts[item.outcome]++;
    const holds = item.outcome === 'done' || item.outcome === 'ended';
    if (!holds && notDone.length < mostListed) notDone.push(item);
  }
  return { batchId, counts, notDone };
}
