import type { Client } from '@temporalio/client';
import { pMapIterable } from 'p-map';
import { type ItemState, hasEnded, isParked } from '../domain/item.ts';
import type { Named } from '../workflows/named.ts';
import { batchStatus } from './batch-status.ts';
import { keyHolder } from './key-holder.ts';
import { operateItem } from './operate-item.ts';
import { ORDERS_AT_ONCE, operated } from './operate-items.ts';

export type BatchAct = 'pause' | 'resume' | 'discard';

/** What became of one item of a batch that an operator does something to. */
export interface ItemOutcome {
  readonly page: number;
  readonly position: number;
  readonly key: string | null;
  /**
   * `done`: it holds. `ended`: the item ended meanwhile. `refused`: the item does not do that, e.g. is being sent.
   * `unanswered`: no worker answered in time. `pending`: not started, and its batch's workflow is closed.
   */
  readonly outcome: 'done' | 'ended' | 'refused' | 'unanswered' | 'pending';
  readonly state: ItemState | null;
  readonly reason: string | null;
}

/** Tells each item of a page that the act is for, and yields what came of it, in order. */
export async function* tellItems(
  client: Client,
  { batchId, page }: { readonly batchId: string; readonly page: number },
  act: BatchAct,
  named: Named,
): AsyncGenerator<ItemOutcome, void> {
  const { admissions, states } = await batchStatus(client, batchId, page);
  const concerned = admissions.filter(({ admission, key }) => {
    const state = key === null ? undefined : states[key];
    return admission === 'pending' || (admission === 'accepted' && concerns(act, state));
  });
  yield* pMapIterable(
    concerned,
    async (admission): Promise<ItemOutcome> => {
      const { position, key } = admission;
      const outcome =
        admission.admission === 'accepted' ? await tellItem(client, admission.key, act, named) : NOT_STARTED;
      return { page, position, key, ...outcome };
    },
    { concurrency: ORDERS_AT_ONCE },
  );
}

/** Parked items wait for a person in any case; only discarding is for them, too. */
function concerns(act: BatchAct, state: ItemState | undefined): boolean {
  if (state === undefined || hasEnded(state)) return false;
  return act === 'discard' || !isParked(state);
}

type Outcome = Pick<ItemOutcome, 'outcome' | 'state' | 'reason'>;

const NOT_STARTED: Outcome = {
  outcome: 'pending',
  state: null,
  reason: 'not started, and its workflow is closed: it will be only if the batch is published again',
};

async function tellItem(client: Client, key: string, act: BatchAct, named: Named): Promise<Outcome> {
  const told = await operated(key, () => itemActOf(act)(client, key, named));
  if (told.done) return { outcome: 'done', state: told.answer.state, reason: told.answer.reason };
  if (told.why === 'unanswered') return { outcome: 'unanswered', state: null, reason: told.reason };
  const holder = await keyHolder(client, key);
  const state = holder.kind === 'item' ? holder.state : null;
  const ended = state === null || hasEnded(state);
  return { outcome: ended ? 'ended' : 'refused', state, reason: told.reason };
}

function itemActOf(act: BatchAct) {
  switch (act) {
    case 'pause':
      return operateItem.hold;
    case 'resume':
      return operateItem.release;
    case 'discard':
      return operateItem.discard;
  }
}
