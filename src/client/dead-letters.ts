import type { Client } from '@temporalio/client';
import { ItemMemoSchema, ParkedMemoSchema } from '../domain/delivery.ts';
import type { ParkedState } from '../domain/item.ts';
import { ONELANE_BATCH, ONELANE_LANE, ONELANE_STATE } from '../workflows/visibility.ts';
import { checkLane } from './check-lane.ts';
import { NotFoundError } from './errors.ts';
import { quoted } from './lists.ts';

/** An item that is parked, as Temporal's lists tell it: with no worker running, and without asking for each. */
export interface DeadLetter {
  readonly key: string;
  readonly state: ParkedState;
  /** the lane's full name, with its partition */
  readonly lane: string;
  /** of the lane: whom to ask */
  readonly owner: string | null;
  readonly batchId: string;
  readonly position: number;
  readonly publisher: string | null;
  /** why it is parked */
  readonly reason: string;
  readonly parkedAt: string;
  readonly round: number;
}

/** All that are given must hold. */
export interface DeadLetterFilter {
  /** a lane and all of its partitions, or one partition by its full name */
  readonly lane?: string | undefined;
  readonly batchId?: string | undefined;
  /** a part of the reason, in any case */
  readonly because?: string | undefined;
  /** parked for at least so long */
  readonly olderThanMs?: number | undefined;
}

/**
 * Everything that is parked and fits. Lists may lag by some seconds: what has just moved may be there, or not yet.
 *
 * @throws NotFoundError when nothing is parked, and nothing is known of the lane or batch that was named
 */
export async function* deadLetters(
  client: Client,
  filter: DeadLetterFilter = {},
): AsyncGenerator<DeadLetter> {
  const because = filter.because?.toLowerCase();
  const parkedBeforeMs = Date.now() - (filter.olderThanMs ?? 0);
  let none = true;
  for await (const execution of client.workflow.list({ query: queryOf(filter) })) {
    none = false;
    const { workflowId, typedSearchAttributes, memo } = execution;
    const state = typedSearchAttributes.get(ONELANE_STATE);
    const item = ItemMemoSchema.safeParse(memo);
    const parked = ParkedMemoSchema.safeParse(memo);
    if ((state !== 'dead' && state !== 'uncertain') || !item.success || !parked.success) continue;
    const { reason, atMs, round } = parked.data.parked;
    if (because !== undefined && !reason.toLowerCase().includes(because)) continue;
    if (filter.olderThanMs !== undefined && atMs > parkedBeforeMs) continue;
    const { owner, position, publisher } = item.data;
    yield {
      key: workflowId,
      state,
      lane: typedSearchAttributes.get(ONELANE_LANE) ?? '',
      owner,
      batchId: typedSearchAttributes.get(ONELANE_BATCH) ?? '',
      position,
      publisher,
      reason,
      parkedAt: new Date(atMs).toISOString(),
      round,
    };
  }
  if (none) await checkNames(client, filter);
}

/** A name that was mistyped must not look like a lane or batch in which all is well. */
async function checkNames(client: Client, { lane, batchId }: DeadLetterFilter): Promise<void> {
  if (lane !== undefined) await checkLane(client, lane);
  if (batchId === undefined) return;
  const { count } = await client.workflow.count(`OnelaneBatch = ${quoted(batchId)}`);
  if (count === 0) throw new NotFoundError(`batch "${batchId}": nothing is known under this ID`);
}

function queryOf({ lane, batchId }: DeadLetterFilter): string {
  const conditions = [
    `WorkflowType = 'deliverItem'`,
    `ExecutionStatus = 'Running'`,
    `OnelaneState IN ('dead', 'uncertain')`,
  ];
  if (lane !== undefined)
    conditions.push(`(OnelaneLane = ${quoted(lane)} OR OnelaneLane STARTS_WITH ${quoted(`${lane}/`)})`);
  if (batchId !== undefined) conditions.push(`OnelaneBatch = ${quoted(batchId)}`);
  return conditions.join(' AND ');
}
