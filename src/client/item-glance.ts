import type { Client } from '@temporalio/client';
import { type ItemEnding, endingOf } from '../domain/batch.ts';
import { type ItemEnd, ItemMemoSchema } from '../domain/delivery.ts';
import { type ItemState, isParked } from '../domain/item.ts';
import { itemRecord } from './item-record.ts';
import { describeOrUndefined, itemStateOf } from './key-holder.ts';

/** What a report says of an item: where it stands, and how it came there. */
export interface ItemGlance {
  /** the workflow ID of the batch that brought it, and where in it */
  readonly batch: string;
  readonly position: number;
  readonly state: ItemState;
  /** of one that succeeded or was discarded */
  readonly ending: ItemEnding | null;
  /** of one that is parked */
  readonly reason: string | null;
}

/** Undefined when no item holds the key, or not any more. */
export async function glanceAt(client: Client, key: string): Promise<ItemGlance | undefined> {
  const description = await describeOrUndefined(client, key);
  const memo = ItemMemoSchema.safeParse(description?.memo);
  if (description?.type !== 'deliverItem' || !memo.success) return undefined;
  const { workflowId, runId, status } = description;
  const state = await itemStateOf(client, description);
  const end = async (): Promise<ItemEnd> => await client.workflow.getHandle(workflowId, runId).result();
  return {
    batch: memo.data.batch,
    position: memo.data.position,
    state,
    ending: status.name === 'COMPLETED' ? endingOf(await end()) : null,
    reason: isParked(state) ? (await itemRecord(client, key)).reason : null,
  };
}
