import { Client, type Connection, type ConnectionLike } from '@temporalio/client';
import proto from '@temporalio/proto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SEARCH_ATTRIBUTES, SEARCH_ATTRIBUTE_NAMES, type SearchAttribute } from './domain/ids.ts';
import { GRPC, grpcCodeOf } from './grpc.ts';

const { INDEXED_VALUE_TYPE_DATETIME, INDEXED_VALUE_TYPE_KEYWORD } =
  proto.temporal.api.enums.v1.IndexedValueType;
const VALUE_TYPES = { Keyword: INDEXED_VALUE_TYPE_KEYWORD, Datetime: INDEXED_VALUE_TYPE_DATETIME };
/** What a query can compare with an attribute of this type, and with none of the other. */
const SAMPLE_VALUES = { Keyword: "'any'", Datetime: '1' };

/** The dev server knows a new attribute at once; others read them from a cache that lives for up to a minute. */
const USABLE_TIMEOUT_MS = 90_000;

/**
 * Registers those of our search attributes that are missing, and waits until they can be used. For servers that
 * are ours: elsewhere it needs an operator's permission.
 *
 * @throws Error when they still cannot be used after 90 s, for example because one exists with another type
 */
export async function ensureSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  for (const name of SEARCH_ATTRIBUTE_NAMES) await register(connection, namespace, name);
  const giveUpAt = performance.now() + USABLE_TIMEOUT_MS;
  for (;;) {
    const missing = await missingSearchAttributes(connection, namespace);
    if (missing.length === 0) return;
    if (performance.now() > giveUpAt)
      throw new Error(
        `Search attributes ${missing.map((name) => `${name} (${SEARCH_ATTRIBUTES[name]})`).join(', ')} were ` +
          `registered in namespace ${namespace}, but cannot be used after ${USABLE_TIMEOUT_MS / 1000} s; ` +
          `do they exist with another type?`,
      );
    await sleep(100);
  }
}

/** One at a time: the test server refuses a request whole when it knows one of the names. */
async function register(connection: Connection, namespace: string, name: SearchAttribute): Promise<void> {
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: { [name]: VALUE_TYPES[SEARCH_ATTRIBUTES[name]] },
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
): Promise<SearchAttribute[]> {
  const client = new Client({ connection, namespace });
  const missing: SearchAttribute[] = [];
  for (const name of SEARCH_ATTRIBUTE_NAMES) {
    if (!(await isUsable(client, name))) missing.push(name);
  }
  return missing;
}

async function isUsable(client: Client, name: SearchAttribute): Promise<boolean> {
  try {
    await client.workflow.count(`${name} = ${SAMPLE_VALUES[SEARCH_ATTRIBUTES[name]]}`);
    return true;
  } catch (error) {
    const code = grpcCodeOf(error);
    if (code === GRPC.invalidArgument) return false;
    if (code === GRPC.unimplemented) return true;
    throw error;
  }
}
