import {
  type ChildWorkflowHandle,
  CancelledFailure,
  ChildWorkflowFailure,
  condition,
  proxyActivities,
} from '@temporalio/workflow';
import type { DispatchActivities } from '../activities/contract.ts';
import { type ItemState, hasEnded, isParked } from '../domain/item.ts';
import type { BatchLedger } from './batch-ledger.ts';
import type { deliverItem } from './deliver-item.ts';

/** From the first asking to the last: soon enough to be useful, rare enough for a batch that takes days. */
const FIRST_ASKING_MS = 1_000;
const RAREST_ASKING_MS = 5 * 60_000;
const KEYS_PER_LOOKUP = 100;

const { lookUpKeys } = proxyActivities<DispatchActivities>({
  summary: 'How items stand that an earlier run started',
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
});

/** Enters how a child ends as soon as it does. A parked one tells by signal instead, since it stays open. */
export function followChild(
  key: string,
  child: ChildWorkflowHandle<typeof deliverItem>,
  ledger: BatchLedger,
): void {
  child.result().then(
    (end) => ledger.ended(key, end),
    (error: unknown) => ledger.settled(key, endedFromOutside(error)),
  );
}

/** Cancelling an item means giving it up; whatever else closed it without a result was not us. */
function endedFromOutside(error: unknown): ItemState {
  return error instanceof ChildWorkflowFailure && error.cause instanceof CancelledFailure
    ? 'discarded'
    : 'terminated';
}

/** Asks about items that an earlier run of this batch started, ever more rarely, until each has ended or parked. */
export async function followStragglers(ledger: BatchLedger): Promise<void> {
  let intervalMs = FIRST_ASKING_MS;
  while (ledger.stragglers.size > 0) {
    // Those that park say so themselves, and may empty the list meanwhile.
    if (await condition(() => ledger.stragglers.size === 0, intervalMs)) return;
    intervalMs = Math.min(2 * intervalMs, RAREST_ASKING_MS);
    const keys = [...ledger.stragglers];
    for (let from = 0; from < keys.length; from += KEYS_PER_LOOKUP) {
      await askAbout(keys.slice(from, from + KEYS_PER_LOOKUP), ledger);
    }
  }
}

async function askAbout(keys: string[], ledger: BatchLedger): Promise<void> {
  const holders = await lookUpKeys(keys);
  keys.forEach((key, index) => {
    const holder = holders[index];
    // Past its retention: it was there, and nobody can say any more how it ended.
    if (holder?.kind !== 'item') ledger.settled(key, 'terminated');
    else if (isParked(holder.state) || hasEnded(holder.state)) ledger.settled(key, holder.state);
  });
}
