import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { type Attempts, lastEvidence } from '../domain/attempts.ts';
import { describeIssues } from '../domain/batch.ts';
import {
  type Delivery,
  DeliverySchema,
  type ItemEnd,
  ItemMemoSchema,
  ParkedMemoSchema,
  type Receipt,
} from '../domain/delivery.ts';
import { type Evidence, keptEvidence } from '../domain/evidence.ts';
import { type ItemState, isParked } from '../domain/item.ts';
import type { Order } from '../domain/orders.ts';
import type { deliverItem } from '../workflows/index.ts';
import { NotFoundError } from './errors.ts';
import { readHistory } from './history.ts';
import { accountOf, lateEvidenceIn, ordersIn } from './item-facts.ts';
import { describeItem, itemStateOf } from './key-holder.ts';
import { type PendingActivity, pendingActivityOf } from './pending-activity.ts';

/** All that is known of an item, with evidence. */
export interface ItemRecord {
  readonly key: string;
  readonly state: ItemState;
  readonly lane: string;
  /** of the lane, as its configuration named it when the item was admitted: whom to ask */
  readonly owner: string | null;
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
  /** since when it is parked; null when it isn't */
  readonly parkedAt: string | null;
  /** when its workflow closed */
  readonly endedAt: string | null;
  /** 0 as it was published, n after its nth redrive */
  readonly round: number;
  readonly attempts: Attempts['byVerdict'];
  /** how often the upstream was asked whether it was done */
  readonly lookups: number;
  /** an attempt of it may have been applied, and nothing has told yet */
  readonly unresolved: boolean;
  /** null: no limit */
  readonly budgetLeft: number | null;
  /** when it may be tried next; null when it is being tried, or never will be by itself */
  readonly nextEligibleAt: string | null;
  /** which worker has it now, and until when it counts as alive */
  readonly sender: { readonly identity: string; readonly leaseUntil: string } | null;
  /** its batch is paused */
  readonly held: Delivery['held'];
  readonly receipt: Receipt | null;
  /** why it is parked, was discarded, or what its newest attempt failed with */
  readonly reason: string | null;
  /** who discarded it, or found it done */
  readonly by: string | null;
  /** what was done to it, oldest first */
  readonly orders: readonly Order[];
  /** of its newest call */
  readonly evidence: Evidence | null;
  /** of its first and of its last 20 calls, oldest first */
  readonly trail: readonly Evidence[];
  /** answers that came to calls whose worker had lost the lane meanwhile; they changed nothing */
  readonly late: readonly Evidence[];
}

/**
 * Puts an item's record together from what Temporal itself keeps, so that it can be read in full with no
 * worker running.
 *
 * @throws NotFoundError
 */
export async function itemRecord(client: Client, key: string): Promise<ItemRecord> {
  return (await readItem(client, await describeItem(client, key))).record;
}

/** An item as its record tells it, with what it was given and the account of its attempts. */
export interface ReadItem {
  readonly record: ItemRecord;
  readonly delivery: Delivery;
  readonly attempts: Attempts;
}

/** Reads the item that was described, in full. */
export async function readItem(client: Client, description: WorkflowExecutionDescription): Promise<ReadItem> {
  const key = description.workflowId;
  const history = await readHistory(client, key, description.runId);
  const delivery = readDelivery(key, history.input);
  const state = await itemStateOf(client, description);
  const end = await endOf(client, description);
  const pending = pendingActivityOf(description, 'callUpstream');
  const known = await accountOf(client, history, pending);
  const attempts = end === null ? known : { ...end.attempts, first: known.first, recent: known.recent };
  const { orders, round } = ordersIn(history);
  const parked = isParked(state) ? ParkedMemoSchema.safeParse(description.memo).data?.parked : undefined;
  const held = heldBy(delivery, orders);
  const { budget } = delivery.policy.retry;
  const record: ItemRecord = {
    key,
    state,
    ...identityOf(delivery),
    owner: ItemMemoSchema.safeParse(description.memo).data?.owner ?? null,
    admittedAt: description.startTime.toISOString(),
    parkedAt: parked === undefined ? null : new Date(parked.atMs).toISOString(),
    endedAt: description.closeTime?.toISOString() ?? null,
    round: end?.round ?? round,
    attempts: attempts.byVerdict,
    lookups: attempts.lookups,
    unresolved: attempts.unresolved,
    budgetLeft: budget === null ? null : Math.max(0, budget - attempts.spent),
    nextEligibleAt: held === null ? nextEligibleAt(description, delivery, state, pending) : null,
    sender: senderOf(pending, delivery),
    held: end === null ? held : null,
    receipt: end?.state === 'succeeded' ? end.receipt : null,
    reason: parked?.reason ?? reasonOf(description, end, pending),
    by: end?.state === 'discarded' ? end.by : (end?.receipt.by ?? null),
    orders,
    evidence: lastEvidence(attempts),
    trail: keptEvidence(attempts),
    late: lateEvidenceIn(history),
  };
  return { record, delivery, attempts };
}

/** Whether reading an item failed because it is no item, or is no longer kept. */
export function isUnreadable(error: unknown): error is Error {
  return error instanceof NotFoundError || error instanceof WorkflowNotFoundError;
}

function readDelivery(key: string, input: unknown): Delivery {
  const parsed = DeliverySchema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new NotFoundError(
    `item "${key}": its input is no delivery: ${describeIssues(parsed.error, 'input')}`,
  );
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

async function endOf(
  client: Client,
  { workflowId, runId, status }: WorkflowExecutionDescription,
): Promise<ItemEnd | null> {
  if (status.name !== 'COMPLETED') return null;
  return await client.workflow.getHandle<typeof deliverItem>(workflowId, runId).result();
}

function heldBy({ held }: Delivery, orders: readonly Order[]): Delivery['held'] {
  const newest = orders.findLast(({ kind }) => kind === 'hold' || kind === 'release');
  if (newest === undefined) return held;
  return newest.kind === 'hold' ? { by: newest.by, reason: newest.reason } : null;
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

function reasonOf(
  { status }: WorkflowExecutionDescription,
  end: ItemEnd | null,
  pending: PendingActivity | undefined,
): string | null {
  if (end !== null) return end.state === 'discarded' ? end.reason : null;
  if (status.name !== 'RUNNING') return `its workflow was ended from outside: ${status.name}`;
  return pending?.lastFailure ?? null;
}
