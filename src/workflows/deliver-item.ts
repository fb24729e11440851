import {
  CancellationScope,
  CancelledFailure,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallOutcome, CallTask, Delivery, ItemEnd } from '../domain/delivery.ts';
import { laneName } from '../domain/ids.ts';
import type { ItemState, ParkedState } from '../domain/item.ts';
import { laneActivities } from './lane-activities.ts';
import * as messages from './messages.ts';
import { ONELANE_PARKED_AT, ONELANE_STATE } from './visibility.ts';

/** One item, from its admission to its end. Its workflow ID is the item's key. */
export async function deliverItem(delivery: Delivery): Promise<ItemEnd> {
  const eligibleAtMs = eligibleAt(delivery);
  const deadlineMs = delivery.policy.deadlineMs === null ? null : eligibleAtMs + delivery.policy.deadlineMs;
  let state: ItemState = 'waiting';
  let outcome: CallOutcome | null = null;
  setHandler(messages.item, () => {
    const { policy: _policy, request: _request, ...told } = delivery;
    return {
      delivery: { ...told, deadlineMs },
      state,
      outcome,
      round: 0,
      parkedAtMs: null,
      held: null,
      orders: [],
      late: [],
    };
  });

  await untilEligible(delivery, eligibleAtMs);
  outcome = await callUpstream(delivery, deadlineMs);
  if (outcome.kind === 'succeeded') {
    const { receipt, attempts } = outcome;
    state = 'succeeded';
    setCurrentDetails(`Succeeded with status ${receipt.status}${receipt.replayed ? ', replayed' : ''}.`);
    return { state, receipt, attempts };
  }
  state = outcome.state;
  return await park(delivery, outcome.state, outcome.reason);
}

/** Epoch ms: the later of admission and `notBefore`. The deadline runs from here. */
function eligibleAt({ item }: Delivery): number {
  const admittedAtMs = workflowInfo().startTime.getTime();
  return item.notBefore === undefined ? admittedAtMs : Math.max(admittedAtMs, Date.parse(item.notBefore));
}

async function untilEligible({ item }: Delivery, eligibleAtMs: number): Promise<void> {
  const waitMs = eligibleAtMs - Date.now();
  if (waitMs <= 0) return;
  setCurrentDetails(`Waits until ${item.notBefore}, its notBefore.`);
  await sleep(waitMs, { summary: 'notBefore' });
}

async function callUpstream(delivery: Delivery, deadlineMs: number | null): Promise<CallOutcome> {
  const { item, policy, request } = delivery;
  const lane = laneName(delivery.lane, item.partition ?? null);
  setCurrentDetails(`Waits for its turn in lane ${lane}; the pending activity says where it stands.`);
  const activities = laneActivities(lane, policy, `${request.method} ${request.path} in lane ${lane}`);
  const task: CallTask = {
    lane,
    key: item.key,
    correlationId: item.correlationId ?? null,
    method: request.method,
    path: request.path,
    lookupPath: request.lookupPath,
    payload: item.payload,
    policy,
    deadlineMs,
    round: 0,
    account: null,
    acceptRisk: false,
  };
  try {
    return await activities.callUpstream(task);
  } catch (error) {
    // A call that was in flight when the item was cancelled has failed, and the server does not try it again: given
    // up as asked, not broken.
    if (CancellationScope.current().consideredCancelled)
      throw new CancelledFailure('cancelled while its call was in flight, which then failed');
    throw error;
  }
}

/** Keeps the key, tells the batch, and waits for an operator. Only cancelling or terminating ends it as yet. */
async function park(delivery: Delivery, state: ParkedState, reason: string): Promise<never> {
  setCurrentDetails(`Parked as ${state}: ${reason}`);
  upsertSearchAttributes([
    { key: ONELANE_STATE, value: state },
    { key: ONELANE_PARKED_AT, value: new Date() },
  ]);
  await tellBatch(delivery, state);
  await condition(() => false);
  throw new Error('a parked item was released by nobody');
}

async function tellBatch({ batch, item }: Delivery, state: ParkedState): Promise<void> {
  try {
    await getExternalWorkflowHandle(batch.workflowId).signal(messages.moved, { key: item.key, state });
  } catch (error) {
    // A batch that is gone does not hurt the item.
    if (isCancellation(error)) throw error;
  }
}
