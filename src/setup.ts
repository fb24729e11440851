import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, Connection, NamespaceNotFoundError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { SEARCH_ATTRIBUTE_NAMES } from './domain/ids.ts';
import { GRPC, grpcCodeOf } from './grpc.ts';
import { MissingNamespaceError, SetupRefusedError, notReady, retentionOf } from './namespace.ts';
import { ensureSearchAttributes, missingSearchAttributes } from './search-attributes.ts';

/** Servers read namespaces from a cache that lives for some seconds. */
const NAMESPACE_WITHIN_MS = 60_000;

export interface SetupOptions {
  /** makes the namespace where there is none */
  readonly create: boolean;
  /** how long closed workflows are to be kept; as it is when null */
  readonly retentionMs: number | null;
}

/** What a namespace was found or made to be. */
export interface SetupReport {
  readonly namespace: string;
  readonly created: boolean;
  /** search attributes that were missing */
  readonly registered: readonly string[];
  readonly retentionMs: number;
  /** what it was before, where it was changed */
  readonly retentionWasMs: number | null;
}

/** A namespace that is made without saying how long closed workflows are to be kept. */
const DEFAULT_RETENTION_MS = 30 * 24 * 3_600_000;

/**
 * Makes a namespace of a server that isn't ours ready for onelane. Again changes nothing.
 *
 * @throws MissingNamespaceError when there is no such namespace, and none is to be made
 * @throws SetupRefusedError, NamespaceNotReadyError when the server does not let us
 */
export async function setUp(client: Client, { create, retentionMs }: SetupOptions): Promise<SetupReport> {
  const { namespace } = client.options;
  const before = await retentionOrUndefined(client, namespace);
  if (before === undefined) {
    if (!create) throw new MissingNamespaceError(namespace);
    await createNamespace(client, namespace, retentionMs ?? DEFAULT_RETENTION_MS);
  } else if (retentionMs !== null && retentionMs !== before)
    await setRetention(client, namespace, retentionMs);
  const registered = await registerMissing(client, namespace);
  return {
    namespace,
    created: before === undefined,
    registered,
    retentionMs: await retentionOf(client.connection, namespace),
    retentionWasMs: before !== undefined && retentionMs !== null && retentionMs !== before ? before : null,
  };
}

async function retentionOrUndefined(client: Client, namespace: string): Promise<number | undefined> {
  try {
    return await retentionOf(client.connection, namespace);
  } catch (error) {
    if (grpcCodeOf(error) === GRPC.notFound) return undefined;
    throw error;
  }
}

async function createNamespace(client: Client, namespace: string, retentionMs: number): Promise<void> {
  try {
    await client.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs(retentionMs),
    });
  } catch (error) {
    // Somebody else has made it meanwhile.
    if (grpcCodeOf(error) !== GRPC.alreadyExists)
      throw refused(error, `namespace ${namespace}: could not be created`);
  }
  const giveUpAt = performance.now() + NAMESPACE_WITHIN_MS;
  while (!(await isThere(client))) {
    if (performance.now() > giveUpAt)
      throw new SetupRefusedError(
        `namespace ${namespace}: created, but not there after ${NAMESPACE_WITHIN_MS / 1000} s`,
      );
    await sleep(200);
  }
}

async function isThere(client: Client): Promise<boolean> {
  try {
    await client.workflow.count();
    return true;
  } catch (error) {
    if (error instanceof NamespaceNotFoundError) return false;
    throw error;
  }
}

async function setRetention(client: Client, namespace: string, retentionMs: number): Promise<void> {
  try {
    await client.workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl: msToTs(retentionMs) },
    });
  } catch (error) {
    throw refused(error, `namespace ${namespace}: its retention could not be set`);
  }
}

async function registerMissing(client: Client, namespace: string): Promise<readonly string[]> {
  const { connection } = client;
  if (!(connection instanceof Connection)) throw new TypeError('expected a connection that operators have');
  const missing = await missingSearchAttributes(connection, namespace);
  if (missing.length === 0) return [];
  try {
    await ensureSearchAttributes(connection, namespace);
  } catch (error) {
    // Not for us to do, here: whoever may is given the command.
    if (mayNot(error)) throw notReady(namespace, missing);
    throw error;
  }
  return SEARCH_ATTRIBUTE_NAMES.filter((name) => missing.includes(name));
}

function refused(error: unknown, what: string): unknown {
  const code = grpcCodeOf(error);
  if (!mayNot(error) && code !== GRPC.invalidArgument) return error;
  return new SetupRefusedError(`${what}: ${error instanceof Error ? error.message : String(error)}`);
}

/** Temporal Cloud, for one, has other ways for this, and does not serve these at all. */
function mayNot(error: unknown): boolean {
  const code = grpcCodeOf(error);
  return code === GRPC.permissionDenied || code === GRPC.unimplemented;
}
