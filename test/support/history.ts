import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

const { History } = proto.temporal.api.history.v1;
type History = proto.temporal.api.history.v1.IHistory;

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

/**
 * A history as a file keeps it. The SDK's own `historyToJSON` does not work where npm installs protobufjs more than
 * once, as it does here.
 */
export function historyToText(history: History): string {
  const plain = History.toObject(History.fromObject(history), {
    longs: String,
    enums: String,
    bytes: String,
  });
  return `${JSON.stringify(plain, impersonal, 1)}\n`;
}

/** Of the machine that recorded it, a file need not tell: no paths, no process or host in identities. */
function impersonal(name: string, value: unknown): unknown {
  if (name === 'stackTrace') return undefined;
  return typeof value === 'string' ? value.replace(/^\d+@[^-]+/, 'recorder') : value;
}

export function historyFromText(text: string): History {
  const plain: unknown = JSON.parse(text);
  if (typeof plain !== 'object' || plain === null) throw new TypeError('expected a history');
  return History.fromObject(plain);
}
