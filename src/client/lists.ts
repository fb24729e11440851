import type { Client } from '@temporalio/client';

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
