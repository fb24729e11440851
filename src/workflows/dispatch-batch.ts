import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  proxyActivities,
  setCurrentDetails,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { DispatchActivities, DispatchPlan } from '../activities/contract.ts';
import { type Triage, triage } from '../domain/admission.ts';
import { type Batch, type BatchProgress, contentHash, parseBatch } from '../domain/batch.ts';
import { digest } from '../domain/canonical.ts';
import { batchWorkflowId, laneName } from '../domain/ids.ts';
import { admitItems } from './admit-items.ts';
import { BatchDesk, batchIdTaken } from './batch-desk.ts';
import { BatchLedger } from './batch-ledger.ts';
import { followStragglers } from './follow-items.ts';
import { ONELANE_BATCH, ONELANE_LANE } from './visibility.ts';

const { prepareDispatch } = proxyActivities<DispatchActivities>({
  summary: 'Policy of the lane, and earlier runs of this batch',
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
});
const { openLanes } = proxyActivities<DispatchActivities>({
  summary: 'Lanes that the items are about to wait in',
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
});

/**
 * One page of a batch: answers for each of its items, starts those that it admits, and follows them to their
 * ends. Running it again, by whoever and however often, gives the same answers.
 *
 * @param input a `Batch`, from our client or typed by hand
 * @throws ApplicationFailure of type `BatchRefused` when the batch as a whole can't be dispatched, or
 *   `BatchIdTaken` when its ID belongs to other content; none of its items was started then
 */
export async function dispatchBatch(input: unknown): Promise<BatchProgress> {
  const batch = acceptInput(input);
  const content = contentHash(batch);
  const ledger = new BatchLedger(batch, content);
  const desk = new BatchDesk(batch, content, ledger);

  try {
    setCurrentDetails(`Asks for the policy of lane ${batch.lane}.`);
    const { policy, orders } = await prepare(batch, content);
    desk.takeUp(orders);
    const sorted = triage(batch, policy);
    ledger.answer(sorted.rejected);
    const lanes = lanesOf(batch, sorted);
    // Before the first item exists, so that none ever waits in a lane that nobody opens ...
    const drained = await openLanes(lanes);
    setCurrentDetails(`Starts its items, in order.`);
    await admitItems(batch, sorted, { policy, drained, desk }, ledger);
    // ... and again, in case that starting them took so long that an idle partition's lane has ended meanwhile.
    if (policy.partitionBy !== null) await openLanes(lanes);
  } catch (error) {
    if (!(error instanceof ApplicationFailure)) throw error;
    // Whoever waits for admissions is told why before the workflow fails.
    desk.refuse(error);
    await condition(allHandlersFinished);
    throw error;
  }

  setCurrentDetails(`All items are answered; waits until each has ended or parked.`);
  // A parked item may be redriven meanwhile, and is followed again.
  while (!ledger.allSettled()) {
    await followStragglers(ledger);
    await condition(() => ledger.allSettled() || ledger.stragglers.size > 0);
  }
  await condition(allHandlersFinished);
  setCurrentDetails('Every item has ended or parked.');
  return desk.progress();
}

function lanesOf(batch: Batch, { candidates }: Triage): string[] {
  return [...new Set(candidates.map(({ item }) => laneName(batch.lane, item.partition ?? null)))];
}

function acceptInput(input: unknown): Batch {
  const parsed = parseBatch(input);
  if (!parsed.ok) throw refused(parsed.reason);
  const expected = batchWorkflowId(parsed.batch.batchId, parsed.batch.page);
  const { workflowId } = workflowInfo();
  // The workflow ID is what makes one batch one workflow: under another ID it would run beside itself.
  if (workflowId !== expected) throw refused(`workflow ID: expected "${expected}", got "${workflowId}"`);
  return parsed.batch;
}

/** Gets the lane's policy; refuses to go on where an earlier run of this batch meant something else. */
async function prepare(batch: Batch, content: string): Promise<DispatchPlan> {
  const { workflowId, runId, typedSearchAttributes } = workflowInfo();
  const plan = await prepareDispatch({ lane: batch.lane, batch: workflowId, runId }).catch(
    (error: unknown) => {
      throw asRefusal(error);
    },
  );
  const keyTemplate = digest(plan.policy.keyTemplate);
  const { earlier } = plan;
  if (earlier !== null && earlier.content !== content) throw batchIdTaken(batch);
  if (earlier !== null && earlier.keyTemplate !== keyTemplate)
    throw refused(
      `key template: lane "${batch.lane}" derives other keys now than when this batch was first dispatched`,
    );
  upsertMemo({ content, keyTemplate });
  if (typedSearchAttributes.get(ONELANE_BATCH) === undefined)
    upsertSearchAttributes([
      { key: ONELANE_LANE, value: batch.lane },
      { key: ONELANE_BATCH, value: batch.batchId },
    ]);
  return plan;
}

/** An unknown lane refuses the batch; anything else is not for us to judge. */
function asRefusal(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === 'UnknownLane' ? refused(cause.message) : error;
}

function refused(reason: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(reason, 'BatchRefused');
}
