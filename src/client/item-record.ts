import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { type Attempts, AttemptsSchema, NO_ATTEMPTS, lastEvidence } from '../domain/attempts.ts';
import {
  type CallOutcome,
  CallOutcomeSchema,
  type Delivery,
  DeliverySchema,
  type Receipt,
} from '../domain/delivery.ts';
import type { Evidence } from '../domain/evidence.ts';
import type { ItemState } from '../domain/item.ts';
import { describeIssues } from '../domain/batch.ts';
import { NotFoundError } from './errors.ts';
import { readHistory } from './history.ts';
import { describeOrUndefined, itemStateOf } from './key-holder.ts';
import { decodePayloads } from './payloads.ts';
import { type PendingActivity, pendingActivityOf } from './pending-activity.ts';

/** All that is known of an item, with evidence. */
export interface ItemRecord {
  readonly key: string;
  readonly state: ItemState;
  readonly lane: string;
  readonly partition: string | null;
  readonly operation: string;
  readonly batchId: string;
  readonly position: number;
  readonly publisher: string | null;
  readonly correlationId: string | null;
  readonly fingerprint: string;
  /** the payload's */
  readonly version: string | number | null;
  readonly admittedAt: string;
  readonly attempts: Attempts['byVerdict'];
  /** null: no limit */
  readonly budgetLeft: number | null;
  /** when it may be tried next; null when it is being tried, or never will be by itself */
  readonly nextEligibleAt: string | null;
  /** which worker has it now, and until when it counts as alive */
  readonly sender: { readonly identity: string; readonly leaseUntil: string } | null;
  readonly receipt: Receipt | null;
  /** why it is parked, or what its newest attempt failed with */
  readonly reason: string | null;
  /** of its newest call */
  readonly evidence: Evidence | null;
}

/**
 * Puts an item's record together from what Temporal itself keeps, so that it can be read in full with no
 * worker running.
 *
 * @throws NotFoundError
 */
export async function itemRecord(client: Client, key: string): Promise<ItemRecord> {
  const description = await describeOrUndefined(client, key);
  if (description === undefined) throw new NotFoundError(`item "${key}": nothing is known under this key`);
  if (description.type !== 'deliverItem')
    throw new NotFoundError(`item "${key}": the key is held by a workflow of type ${description.type}`);
  const { workflowId, runId } = description;
  const { input, activityResults } = await readHistory(client, workflowId, runId);
  const parsed = DeliverySchema.safeParse(input);
  if (!parsed.success)
    throw new NotFoundError(
      `item "${key}": its input is no delivery: ${describeIssues(parsed.error, 'input')}`,
    );
  const delivery = parsed.data;
  const outcome = outcomeIn(activityResults);
  const state = await itemStateOf(client, description);
  const pending = pendingActivityOf(description, 'callUpstream');
  const attempts = outcome?.attempts ?? (await attemptsOf(client, pending));
  const { budget } = delivery.policy.retry;
  return {
    key,
    state,
    ...identityOf(delivery),
    admittedAt: description.startTime.toISOString(),
    attempts: attempts.byVerdict,
    budgetLeft: budget === null ? null : Math.max(0, budget - attempts.spent),
    nextEligibleAt: nextEligibleAt(description, delivery, state, pending),
    sender: senderOf(pending, delivery),
    receipt: outcome?.kind === 'succeeded' ? outcome.receipt : null,
    reason: reasonOf(description, outcome, pending),
    evidence: lastEvidence(attempts),
  };
}

function identityOf({ item, lane, batch, publisher, fingerprint }: Delivery) {
  return {
    lane,
    partition: item.partition ?? null,
    operation: item.operation,
    batchId: batch.batchId,
    position: batch.position,
    publisher,
    correlationId: item.correlationId ?? null,
    fingerprint,
    version: item.version ?? null,
  };
}

/** The account of an activity that has not ended travels in its heartbeat details. */
async function attemptsOf(client: Client, pending: PendingActivity | undefined): Promise<Attempts> {
  const [details] = await decodePayloads(client, pending?.heartbeatDetails);
  const parsed = AttemptsSchema.safeParse(details);
  return parsed.success ? parsed.data : NO_ATTEMPTS;
}

function nextEligibleAt(
  { startTime }: WorkflowExecutionDescription,
  { item }: Delivery,
  state: ItemState,
  pending: PendingActivity | undefined,
): string | null {
  if (pending !== undefined) return pending.nextAttemptAt?.toISOString() ?? null;
  if (state !== 'waiting') return null;
  return item.notBefore ?? startTime.toISOString();
}

function senderOf(pending: PendingActivity | undefined, { policy }: Delivery): ItemRecord['sender'] {
  if (!pending?.started || pending.workerIdentity === null || pending.lastHeartbeatAt === null) return null;
  const leaseUntil = new Date(pending.lastHeartbeatAt.getTime() + policy.leaseMs).toISOString();
  return { identity: pending.workerIdentity, leaseUntil };
}

function outcomeIn(
  activityResults: readonly { activityType: string; result: unknown }[],
): CallOutcome | undefined {
  const last = activityResults.findLast(({ activityType }) => activityType === 'callUpstream');
  return last === undefined ? undefined : CallOutcomeSchema.parse(last.result);
}

function reasonOf(
  { status }: WorkflowExecutionDescription,
  outcome: CallOutcome | undefined,
  pending: PendingActivity | undefined,
): string | null {
  if (status.name === 'COMPLETED') return null;
  if (status.name !== 'RUNNING') return `its workflow was ended from outside: ${status.name}`;
  return outcome?.kind === 'parked' ? outcome.reason : (pending?.lastFailure ?? null);
}
