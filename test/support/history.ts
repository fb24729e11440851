import type { Client } from '@temporalio/client';

/** All that a workflow's history holds, payloads decoded, as text to be searched. */
export async function historyText(client: Client, workflowId: string): Promise<string> {
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  return [...textsIn(history)].join('\n');
}

/** Walks the messages themselves: as JSON they would have their payloads in base64. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (value instanceof Uint8Array) yield Buffer.from(value).toString('utf8');
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) {
      yield name;
      yield* textsIn(member);
    }
}
