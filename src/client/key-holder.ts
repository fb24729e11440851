import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import type { KeyHolder } from '../domain/admission.ts';
import { AttemptsSchema } from '../domain/attempts.ts';
import { type ItemEnd, ItemMemoSchema } from '../domain/delivery.ts';
import type { ItemState } from '../domain/item.ts';
import { ONELANE_STATE } from '../workflows/visibility.ts';
import { NotFoundError } from './errors.ts';
import { decodePayloads } from './payloads.ts';
import { pendingActivityOf } from './pending-activity.ts';

/** Who holds a key, read without any worker. */
export async function keyHolder(client: Client, key: string): Promise<KeyHolder> {
  const description = await describeOrUndefined(client, key);
  if (description === undefined) return { kind: 'nobody' };
  const memo = ItemMemoSchema.safeParse(description.memo);
  // Without our memo, nobody can say which operation it carries, even where it has our type.
  if (description.type !== 'deliverItem' || !memo.success)
    return { kind: 'foreign', workflowType: description.type };
  const { fingerprint, batch, position } = memo.data;
  return { kind: 'item', fingerprint, batch, position, state: await itemStateOf(client, description) };
}

/** @throws NotFoundError */
export async function describeItem(client: Client, key: string): Promise<WorkflowExecutionDescription> {
  const description = await describeOrUndefined(client, key);
  if (description === undefined) throw new NotFoundError(`item "${key}": nothing is known under this key`);
  if (description.type !== 'deliverItem')
    throw new NotFoundError(`item "${key}": the key is held by a workflow of type ${description.type}`);
  return description;
}

export async function describeOrUndefined(
  client: Client,
  workflowId: string,
): Promise<WorkflowExecutionDescription | undefined> {
  // The server takes it for a request that lacks something.
  if (workflowId === '') return undefined;
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

export async function itemStateOf(
  client: Client,
  description: WorkflowExecutionDescription,
): Promise<ItemState> {
  const { workflowId, runId, status } = description;
  switch (status.name) {
    case 'RUNNING':
    case 'PAUSED':
      return await openStateOf(client, description);
    case 'COMPLETED': {
      const end: ItemEnd = await client.workflow.getHandle(workflowId, runId).result();
      return end.state;
    }
    case 'CANCELLED':
      return 'discarded';
    case 'TERMINATED':
    case 'FAILED':
    case 'TIMED_OUT':
    case 'CONTINUED_AS_NEW':
    case 'UNSPECIFIED':
    case 'UNKNOWN':
      return 'terminated';
  }
}

async function openStateOf(client: Client, description: WorkflowExecutionDescription): Promise<ItemState> {
  const shown = description.typedSearchAttributes.get(ONELANE_STATE);
  if (shown === 'dead' || shown === 'uncertain') return shown;
  const pending = pendingActivityOf(description, 'callUpstream');
  if (pending === undefined) return 'waiting';
  const [details] = await decodePayloads(client, pending.heartbeatDetails);
  const attempts = AttemptsSchema.safeParse(details);
  if (pending.started && attempts.success && attempts.data.sendingAttempt === pending.attempt)
    return 'sending';
  return attempts.success && attempts.data.first !== null ? 'retrying' : 'waiting';
}
