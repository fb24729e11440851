import { Client, type Connection, type ConnectionLike } from '@temporalio/client';
import proto from '@temporalio/proto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SEARCH_ATTRIBUTES } from './domain/ids.ts';
import { GRPC, grpcCodeOf } from './grpc.ts';

/** Their type, as the Temporal CLI writes it. */
export const SEARCH_ATTRIBUTE_TYPE = 'Keyword';

const KEYWORD = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;

/** The dev server knows a new attribute at once; others read them from a cache that lives for up to a minute. */
const USABLE_TIMEOUT_MS = 90_000;

/**
 * Registers those of our search attributes that are missing, and waits until they can be used. For servers that
 * are ours: elsewhere it needs an operator's permission.
 *
 * @throws Error when they still cannot be used after 90 s, for example because one exists with another type
 */
export async function ensureSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  for (const name of SEARCH_ATTRIBUTES) await register(connection, namespace, name);
  const giveUpAt = performance.now() + USABLE_TIMEOUT_MS;
  for (;;) {
    const missing = await missingSearchAttributes(connection, namespace);
    if (missing.length === 0) return;
    if (performance.now() > giveUpAt)
      throw new Error(
        `Search attributes ${missing.join(', ')} were registered in namespace ${namespace}, but cannot be used ` +
          `as ${SEARCH_ATTRIBUTE_TYPE} after ${USABLE_TIMEOUT_MS / 1000} s; do they exist with another type?`,
      );
    await sleep(100);
  }
}

/** One at a time: the test server refuses a request whole when it knows one of the names. */
async function register(connection: Connection, namespace: string, name: string): Promise<void> {
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: { [name]: KEYWORD },
    });
  } catch (error) {
    if (grpcCodeOf(error) !== GRPC.alreadyExists) throw error;
  }
}

/**
 * Which of our search attributes cannot be used in a namespace, missing or of another type. It asks by using each in a
 * query, because that is what matters, and because Temporal Cloud does not let everybody list them.
 *
 * The time-skipping server has no queries and cannot say; there the answer is none.
 */
export async function missingSearchAttributes(
  connection: ConnectionLike,
  namespace: string,
): Promise<string[]> {
  const client = new Client({ connection, namespace });
  const missing: string[] = [];
  for (const name of SEARCH_ATTRIBUTES) {
    if (!(await isUsable(client, name))) missing.push(name);
  }
  return missing;
}

async function isUsable(client: Client, name: string): Promise<boolean> {
  try {
    await client.workflow.count(`${name} = 'any'`);
    return true;
  } catch (error) {
    const code = grpcCodeOf(error);
    if (code === GRPC.invalidArgument) return false;
    if (code === GRPC.unimplemented) return true;
    throw error;
  }
}
