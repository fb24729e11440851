import type { ConnectionLike } from '@temporalio/client';
import { formatDuration } from './domain/duration.ts';
import { SEARCH_ATTRIBUTES, type SearchAttribute } from './domain/ids.ts';
import type { LaneConfig } from './domain/policy.ts';
import { missingSearchAttributes } from './search-attributes.ts';

/** The namespace lacks what onelane can't work without. The message has the command that mends it. */
export class NamespaceNotReadyError extends Error {
  override readonly name = 'NamespaceNotReadyError';
}

/**
 * Checks a namespace before a worker starts on it, and returns what its operator should know.
 *
 * @throws NamespaceNotReadyError when search attributes are missing: items would be started and then be stuck
 */
export async function namespaceWarnings(
  connection: ConnectionLike,
  namespace: string,
  lanes: readonly LaneConfig[],
): Promise<string[]> {
  const missing = await missingSearchAttributes(connection, namespace);
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

/** The error for a namespace without (some of) our search attributes, with the command that registers them. */
export function notReady(namespace: string, missing: readonly SearchAttribute[]): NamespaceNotReadyError {
  const flags = missing.map((name) => `--name ${name} --type ${SEARCH_ATTRIBUTES[name]}`).join(' ');
  return new NamespaceNotReadyError(
    `namespace ${namespace}: expected the search attributes ${missing.join(', ')}. Register them with\n` +
      `  temporal operator search-attribute create --namespace ${namespace} ${flags}`,
  );
}

/** How long a namespace keeps closed workflows, in milliseconds. */
export async function retentionOf(connection: ConnectionLike, namespace: string): Promise<number> {
  const answer = await connection.workflowService.describeNamespace({ namespace });
  return Number(answer.config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1000;
}
