import { type ConnectionLike, NamespaceNotFoundError } from '@temporalio/client';
import { formatDuration } from './domain/duration.ts';
import { SEARCH_ATTRIBUTES, type SearchAttribute } from './domain/ids.ts';
import type { LaneConfig } from './domain/policy.ts';
import { missingSearchAttributes } from './search-attributes.ts';

/** The namespace lacks what onelane can't work without. The message has the command that mends it. */
export class NamespaceNotReadyError extends Error {
  override readonly name = 'NamespaceNotReadyError';
}

/** There is no such namespace on the server. */
export class MissingNamespaceError extends Error {
  override readonly name = 'MissingNamespaceError';

  constructor(namespace: string) {
    super(`namespace ${namespace}: there is none of this name. Make it with: onelane setup --create`);
  }
}

/** The server does not let us set a namespace up. The message has its words. */
export class SetupRefusedError extends Error {
  override readonly name = 'SetupRefusedError';
}

/**
 * Checks a namespace before a worker starts on it, and returns what its operator should know.
 *
 * @throws MissingNamespaceError
 * @throws NamespaceNotReadyError when search attributes are missing: items would be started and then be stuck
 */
export async function namespaceWarnings(
  connection: ConnectionLike,
  namespace: string,
  lanes: readonly LaneConfig[],
): Promise<string[]> {
  const missing = await missingIn(connection, namespace);
  if (missing.length > 0) throw notReady(namespace, missing);
  const retentionMs = await retentionOf(connection, namespace);
  return lanes
    .filter(({ dedupWindowMs }) => retentionMs < dedupWindowMs)
    .map(
      ({ policy, dedupWindowMs }) =>
        `namespace ${namespace} forgets closed items after ${formatDuration(retentionMs)}, before the dedupWindow ` +
        `of lane ${policy.lane} (${formatDuration(dedupWindowMs)}): a key published again later is a new operation`,
    );
}

async function missingIn(connection: ConnectionLike, namespace: string): Promise<SearchAttribute[]> {
  try {
    return await missingSearchAttributes(connection, namespace);
  } catch (error) {
    if (error instanceof NamespaceNotFoundError) throw new MissingNamespaceError(namespace);
    throw error;
  }
}

/** The error for a namespace without (some of) our search attributes, with the command that registers them. */
export function notReady(namespace: string, missing: readonly SearchAttribute[]): NamespaceNotReadyError {
  const flags = missing.map((name) => `--name ${name} --type ${SEARCH_ATTRIBUTES[name]}`).join(' ');
  return new NamespaceNotReadyError(
    `namespace ${namespace}: expected the search attributes ${missing.join(', ')}. Register them with\n` +
      `  onelane setup\nor, as whoever may do that in this namespace (in Temporal Cloud, in its settings), with\n` +
      `  temporal operator search-attribute create --namespace ${namespace} ${flags}`,
  );
}

/** How long a namespace keeps closed workflows, in milliseconds. */
export async function retentionOf(connection: ConnectionLike, namespace: string): Promise<number> {
  const answer = await connection.workflowService.describeNamespace({ namespace });
  return Number(answer.config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1000;
}
