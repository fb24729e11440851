import {
  CancellationScope,
  allHandlersFinished,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  upsertMemo,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { DispatchActivities } from '../activities/contract.ts';
import type { CallTask, Delivery, ItemEnd, ParkedMemo } from '../domain/delivery.ts';
import { laneName } from '../domain/ids.ts';
import type { ItemState } from '../domain/item.ts';
import { ItemDesk } from './item-desk.ts';
import { ItemLedger, type Parked } from './item-ledger.ts';
import * as messages from './messages.ts';
import { UpstreamCall } from './upstream-call.ts';
import { ONELANE_PARKED_AT, ONELANE_STATE } from './visibility.ts';

const { openLanes } = proxyActivities<DispatchActivities>({
  summary: 'The lane that the item is about to wait in again',
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
});

/**
 * One item, from its admission to its end. Its workflow ID is the item's key.
 *
 * ```
 *          ┌─ hold ──▶ held ─ release ─┐
 *          │                           ▼
 *   early ─┴─▶ due ──▶ calling ──▶ succeeded          discard: from anywhere, unless it is being sent
 *               ▲         │             ▲
 *               │         ▼             │
 *               └redrive─ parked ─ resolve, settle
 * ```
 */
export async function deliverItem(delivery: Delivery): Promise<ItemEnd> {
  const item = new ItemLedger(delivery);
  const desk = new ItemDesk(item);
  // A Cancel from the Temporal UI cuts nothing off: it means to discard the item, once nothing of it is in flight.
  desk.discardWhenCancelled(CancellationScope.current());
  return await CancellationScope.nonCancellable(async () => {
    for (;;) {
      await desk.free();
      if (item.end !== null) break;
      else if (item.parked !== null) await park(item, item.parked);
      else if (item.held !== null) await rest(item, item.held);
      else if (item.eligibleAtMs > Date.now()) await untilEligible(item);
      else await callUpstream(item);
    }
    setCurrentDetails(describeEnd(item.end));
    await condition(allHandlersFinished);
    return item.end;
  });
}

/** Its batch is paused. */
async function rest(item: ItemLedger, { by, reason }: NonNullable<Delivery['held']>): Promise<void> {
  setCurrentDetails(`Held, with its batch, by ${by}: ${reason}`);
  await condition(() => item.held === null || item.end !== null);
}

async function untilEligible(item: ItemLedger): Promise<void> {
  const { eligibleAtMs } = item;
  setCurrentDetails(`Waits until ${new Date(eligibleAtMs).toISOString()}; it may not be sent earlier.`);
  const interrupted = () => item.held !== null || item.end !== null;
  await condition(interrupted, eligibleAtMs - Date.now(), { summary: 'until it may be sent' });
}

async function callUpstream(item: ItemLedger): Promise<void> {
  const task = taskOf(item);
  setCurrentDetails(`Waits for its turn in lane ${task.lane}; the pending activity says where it stands.`);
  item.call = new UpstreamCall(task);
  const ending = await item.call.ended;
  item.call = null;
  if (ending.kind === 'takenBack') item.takenBack(ending.attempts, Date.now() + ending.retryInMs);
  else item.called(ending);
}

function taskOf({ delivery, run, round, account, acceptRisk, deadlineMs }: ItemLedger): CallTask {
  const { item, policy, request } = delivery;
  return {
    run,
    lane: laneName(delivery.lane, item.partition ?? null),
    key: item.key,
    correlationId: item.correlationId ?? null,
    method: request.method,
    path: request.path,
    lookupPath: request.lookupPath,
    payload: item.payload,
    policy,
    deadlineMs,
    round,
    account,
    acceptRisk,
  };
}

/** Keeps the key, tells the batch, and waits for a person. */
async function park(item: ItemLedger, parked: Parked): Promise<void> {
  const { delivery, round } = item;
  const parkedAtMs = Date.now();
  item.parkedAtMs = parkedAtMs;
  setCurrentDetails(`Parked as ${parked.state}: ${parked.reason}`);
  upsertSearchAttributes([
    { key: ONELANE_STATE, value: parked.state },
    { key: ONELANE_PARKED_AT, value: new Date(parkedAtMs) },
  ]);
  const memo: ParkedMemo = { parked: { reason: parked.reason, atMs: parkedAtMs, round } };
  upsertMemo({ ...memo });
  await tellBatch(delivery, parked.state);
  await condition(() => item.parked !== parked || item.end !== null);
  const { state } = item;
  // Settled by a lookup as surely not applied: parked anew.
  if (state === 'dead' || state === 'uncertain') return;
  upsertSearchAttributes([
    { key: ONELANE_STATE, value: state },
    { key: ONELANE_PARKED_AT, value: null },
  ]);
  if (item.end !== null) return;
  await tellBatch(delivery, state);
  await openLanes([laneName(delivery.lane, delivery.item.partition ?? null)]);
}

async function tellBatch({ batch, item }: Delivery, state: ItemState): Promise<void> {
  try {
    await getExternalWorkflowHandle(batch.workflowId).signal(messages.moved, { key: item.key, state });
  } catch (error) {
    // A batch that is gone does not hurt the item.
    if (isCancellation(error)) throw error;
  }
}

function describeEnd(end: ItemEnd): string {
  if (end.state === 'discarded') return `Discarded by ${end.by}: ${end.reason}`;
  const { status, replayed, foundBy, by } = end.receipt;
  switch (foundBy) {
    case 'answer':
      return `Succeeded with status ${status}${replayed ? ', replayed' : ''}.`;
    case 'lookup':
      return `Succeeded: a lookup found it done.`;
    case 'operator':
      return `Succeeded: ${by} found it done.`;
  }
}
