import type { Client } from '@temporalio/client';
import type { Rest } from '../domain/export-mark.ts';
import { ONELANE_PARKED_AT } from '../workflows/visibility.ts';

/** A text as Temporal's list queries quote it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}

/** How many open items of a lane, by its full name, are parked, or are not. Lists may lag by some seconds. */
export async function countOpenItems(
  client: Client,
  name: string,
  which: 'parked' | 'unparked',
): Promise<number> {
  const items = `OnelaneLane = ${quoted(name)} AND WorkflowType = 'deliverItem' AND ExecutionStatus = 'Running'`;
  const state = `OnelaneState ${which === 'parked' ? 'IN' : 'NOT IN'} ('dead', 'uncertain')`;
  return (await client.workflow.count(`${items} AND ${state}`)).count;
}

/** Whether a reconciliation waits for lookups of a lane, by its full name. */
export async function isReconciling(client: Client, name: string): Promise<boolean> {
  const query = `OnelaneLane = ${quoted(name)} AND WorkflowType = 'reconcile' AND ExecutionStatus = 'Running'`;
  return (await client.workflow.count(query)).count > 0;
}

/**
 * The part of a query that finds items: those of a lane and of all its partitions, of one partition by its full
 * name, or of all lanes when it is null.
 */
export function itemsOf(lane: string | null): string {
  const items = `WorkflowType = 'deliverItem'`;
  if (lane === null) return items;
  const own = `OnelaneLane = ${quoted(lane)}`;
  const partitions = `OnelaneLane STARTS_WITH ${quoted(`${lane}/`)}`;
  return `${items} AND ${lane.includes('/') ? own : `(${own} OR ${partitions})`}`;
}

/** All items that came to rest from the one time to the other, both included, in no particular order. */
export async function* listRests(
  client: Client,
  lane: string | null,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): AsyncGenerator<Rest> {
  // Lists keep more digits than we do.
  const between = `BETWEEN ${instant(fromMs)} AND ${instant(untilMs + 1)}`;
  const parked = `CloseTime IS NULL AND OnelaneState IN ('dead', 'uncertain')`;
  for (const query of [
    `${itemsOf(lane)} AND CloseTime ${between}`,
    `${itemsOf(lane)} AND ${parked} AND OnelaneParkedAt ${between}`,
  ])
    for await (const { workflowId: key, runId, closeTime, typedSearchAttributes } of client.workflow.list({
      query,
    })) {
      const at = closeTime ?? typedSearchAttributes.get(ONELANE_PARKED_AT);
      if (at) yield { key, runId, kind: closeTime ? 'ended' : 'parked', atMs: at.getTime() };
    }
}

/** Keys of the items that are neither ended nor parked. */
export async function* listUnrested(client: Client, lane: string | null): AsyncGenerator<string> {
  const query = `${itemsOf(lane)} AND CloseTime IS NULL AND OnelaneState NOT IN ('dead', 'uncertain')`;
  for await (const { workflowId } of client.workflow.list({ query })) yield workflowId;
}

function instant(epochMs: number): string {
  return quoted(new Date(epochMs).toISOString());
}
