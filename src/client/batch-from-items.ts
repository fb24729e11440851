import type { Client } from '@temporalio/client';
import pMap from 'p-map';
import {
  type Candidate,
  type KeyHolder,
  admitFollower,
  admitTaken,
  rejectUnstarted,
  triage,
  whyDrained,
} from '../domain/admission.ts';
import {
  type Admission,
  type Batch,
  type BatchOrders,
  type BatchProgress,
  contentHash,
  countBatch,
  whyDiscarded,
} from '../domain/batch.ts';
import type { ItemState } from '../domain/item.ts';
import { keyHolder } from './key-holder.ts';
import type { Plan, ReadBatch } from './read-batch.ts';

/** Enough to hide the round trips, few enough for a small server. */
const LOOKUPS_AT_ONCE = 20;

/** Judges each position as the workflow would, except that whoever was not started yet is still `pending`. */
export async function batchFromItems(
  client: Client,
  { batch, plan, orders }: ReadBatch,
): Promise<BatchProgress> {
  const admissions: Admission[] = batch.items.map((_, position) => ({
    position,
    key: null,
    admission: 'pending',
  }));
  const states: { [key: string]: ItemState } = {};
  if (plan !== undefined) {
    const { rejected, candidates, followers } = triage(batch, plan.policy);
    const answers = [...rejected];
    const holders = await pMap(candidates, ({ item }) => keyHolder(client, item.key), {
      concurrency: LOOKUPS_AT_ONCE,
    });
    const holderOf = new Map(candidates.map((candidate, index) => [candidate, holders[index]]));
    const firstOf = new Map<Candidate, Admission>();
    for (const [candidate, holder] of holderOf) {
      const admission = admitHeld(candidate, holder, batch, plan, orders);
      firstOf.set(candidate, admission);
      answers.push(admission);
      if (admission.admission === 'accepted' && holder?.kind === 'item') states[admission.key] = holder.state;
    }
    for (const follower of followers)
      answers.push(
        admitFollower(follower, firstOf.get(follower.of) ?? pendingAt(follower), holderOf.get(follower.of)),
      );
    for (const answer of answers) admissions[answer.position] = answer;
  }
  return {
    batchId: batch.batchId,
    lane: batch.lane,
    content: contentHash(batch),
    admitted: admissions.every(({ admission }) => admission !== 'pending'),
    admissions,
    states,
    ends: {},
    ...orders,
    counts: countBatch(admissions, states),
  };
}

function admitHeld(
  candidate: Candidate,
  holder: KeyHolder | undefined,
  batch: Batch,
  { drained }: Plan,
  orders: BatchOrders,
): Admission {
  const taken = holder && admitTaken(candidate, holder, batch);
  if (taken !== undefined) return taken;
  const because = whyDiscarded(orders) ?? whyDrained(candidate, batch.lane, drained);
  return because === undefined ? pendingAt(candidate) : rejectUnstarted(candidate, because);
}

function pendingAt({ position, item }: Candidate): Admission {
  return { position, key: item.key, admission: 'pending' };
}
