import {
  ChildWorkflowCancellationType,
  ParentClosePolicy,
  WorkflowIdReusePolicy,
  proxyActivities,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { DispatchActivities } from '../activities/contract.ts';
import {
  type Candidate,
  type DrainedLanes,
  type KeyHolder,
  type Triage,
  admitFollower,
  admitTaken,
  rejectUnstarted,
  whyDrained,
} from '../domain/admission.ts';
import { type Batch, whyDiscarded } from '../domain/batch.ts';
import type { Delivery, ItemMemo } from '../domain/delivery.ts';
import { laneName } from '../domain/ids.ts';
import type { LanePolicy } from '../domain/policy.ts';
import type { BatchDesk } from './batch-desk.ts';
import type { BatchLedger } from './batch-ledger.ts';
import type { deliverItem } from './deliver-item.ts';
import { followChild } from './follow-items.ts';
import { ONELANE_BATCH, ONELANE_LANE, ONELANE_STATE } from './visibility.ts';

/**
 * They start while the batch waits for its next task, so that fewer leave the server idle: 10 were a third slower. More
 * than 25 contend for the parent's lock there, and hold other batches up.
 */
const STARTS_OUTSTANDING = 20;
const KEYS_PER_LOOKUP = 50;
/** What Temporal takes for tasks that say nothing. */
const MIDDLE_PRIORITY = 3;

const { lookUpKeys } = proxyActivities<DispatchActivities>({
  summary: 'Who holds the keys that are taken',
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
});

/** By what a batch admits its items. */
export interface Terms {
  readonly policy: LanePolicy;
  readonly drained: DrainedLanes;
  /** what operators say meanwhile */
  readonly desk: Pick<BatchDesk, 'orders'>;
}

/** Starts one deliverItem per candidate, in order, and answers every position by who holds its key in the end. */
export async function admitItems(
  batch: Batch,
  triage: Triage,
  terms: Terms,
  ledger: BatchLedger,
): Promise<void> {
  const holders = new Map<string, KeyHolder>();
  let open = triage.candidates;
  while (open.length > 0) {
    const unstarted = await startInOrder(open, batch, terms, ledger);
    // What an earlier run of this batch has started stays accepted, also where nothing new is started.
    const free = await answerTaken(unstarted, batch, ledger, holders);
    open = rejectStopped(free, batch, terms, ledger);
    // A key that was taken and is free now has just passed its retention.
    if (open.length > 0) await sleep('200ms', { summary: 'before a key that has become free is taken' });
  }
  for (const follower of triage.followers) {
    const first = ledger.admissionAt(follower.of.position);
    ledger.answer([admitFollower(follower, first, holders.get(follower.item.key))]);
  }
}

/** Why a candidate is not started though its key is free. */
function whyStopped(candidate: Candidate, batch: Batch, { drained, desk }: Terms): string | undefined {
  return whyDiscarded(desk.orders) ?? whyDrained(candidate, batch.lane, drained);
}

/** Returns those that may be started. */
function rejectStopped(
  free: readonly Candidate[],
  batch: Batch,
  terms: Terms,
  ledger: BatchLedger,
): Candidate[] {
  return free.filter((candidate) => {
    const because = whyStopped(candidate, batch, terms);
    if (because !== undefined) ledger.answer([rejectUnstarted(candidate, because)]);
    return because === undefined;
  });
}

/** Returns the candidates that were not started: somebody holds their keys already, or nothing new is to be started. */
async function startInOrder(
  candidates: readonly Candidate[],
  batch: Batch,
  terms: Terms,
  ledger: BatchLedger,
): Promise<Candidate[]> {
  const unstarted: Candidate[] = [];
  const queue = candidates.values();
  // All starters draw from one iterator, so the starts keep the batch's order.
  const starter = async (): Promise<void> => {
    for (const candidate of queue) {
      const stopped = whyStopped(candidate, batch, terms) !== undefined;
      if (stopped || !(await startItem(candidate, batch, terms, ledger))) unstarted.push(candidate);
    }
  };
  await Promise.all(Array.from({ length: STARTS_OUTSTANDING }, starter));
  return unstarted;
}

/** False when the key is taken. */
async function startItem(
  candidate: Candidate,
  batch: Batch,
  terms: Terms,
  ledger: BatchLedger,
): Promise<boolean> {
  const { item, position } = candidate;
  const delivery = deliveryOf(candidate, batch, terms);
  const memo: ItemMemo = {
    fingerprint: delivery.fingerprint,
    batch: delivery.batch.workflowId,
    position,
    publisher: delivery.publisher,
    owner: terms.policy.owner,
  };
  try {
    const child = await startChild<typeof deliverItem>('deliverItem', {
      workflowId: item.key,
      args: [delivery],
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      // An item outlives its batch, whatever happens to that.
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      memo: { ...memo },
      typedSearchAttributes: [
        { key: ONELANE_LANE, value: laneName(batch.lane, item.partition ?? null) },
        { key: ONELANE_BATCH, value: batch.batchId },
        { key: ONELANE_STATE, value: 'waiting' },
      ],
      staticSummary: `${item.operation} in lane ${batch.lane}, position ${position} of batch ${batch.batchId}`,
      // Said in any case: it would have its batch's own else, which is the first.
      priority: { priorityKey: item.priority ?? MIDDLE_PRIORITY },
    });
    ledger.answer([{ position, key: item.key, admission: 'accepted' }]);
    followChild(item.key, child, ledger);
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

function deliveryOf(
  { item, position, fingerprint, path, lookupPath }: Candidate,
  batch: Batch,
  { policy, desk }: Terms,
): Delivery {
  const operation = policy.operations[item.operation];
  if (operation === undefined) throw new TypeError(`operation "${item.operation}" was not checked`);
  return {
    item,
    lane: batch.lane,
    batch: { workflowId: workflowInfo().workflowId, batchId: batch.batchId, position },
    publisher: batch.publisher ?? null,
    fingerprint,
    request: { method: operation.method, path, lookupPath },
    policy: policy.delivery,
    held: desk.orders.held,
  };
}

/** Answers those whose holder could be found; returns those whose key has become free. */
async function answerTaken(
  taken: Candidate[],
  batch: Batch,
  ledger: BatchLedger,
  holders: Map<string, KeyHolder>,
): Promise<Candidate[]> {
  const freed: Candidate[] = [];
  for (let from = 0; from < taken.length; from += KEYS_PER_LOOKUP) {
    const asked = taken.slice(from, from + KEYS_PER_LOOKUP);
    const found = await lookUpKeys(asked.map(({ item }) => item.key));
    asked.forEach((candidate, index) => {
      const holder = found[index] ?? { kind: 'nobody' };
      const admission = admitTaken(candidate, holder, batch);
      if (admission === undefined) {
        freed.push(candidate);
        return;
      }
      holders.set(candidate.item.key, holder);
      ledger.answer([admission]);
      if (admission.admission === 'accepted' && holder.kind === 'item')
        ledger.adopt(candidate.item.key, holder.state);
    });
  }
  return freed;
}
