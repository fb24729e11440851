import type { ConnectionLike } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from './domain/ids.ts';
import { formatDuration } from './domain/duration.ts';
import type { LaneConfig } from './domain/policy.ts';
import { SEARCH_ATTRIBUTE_TYPE, missingSearchAttributes } from './search-attributes.ts';

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
  if (missing.length > 0) {
    const names = SEARCH_ATTRIBUTES.filter((name) => missing.includes(name));
    const flags = names.map((name) => `--name ${name} --type ${SEARCH_ATTRIBUTE_TYPE}`).join(' ');
    throw new NamespaceNotReadyError(
      `namespace ${namespace}: expected the search attributes ${names.join(', ')}. Register them with\n` +
        `  temporal operator search-attribute create --namespace ${namespace} ${flags}`,
    );
  }
  const retentionMs = await retentionOf(connection, namespace);
  return lanes
    .filter(({ dedupWindowMs }) => retentionMs < dedupWindowMs)
    .map(
      ({ policy, dedupWindowMs }) =>
        `namespace ${namespace} forgets closed items after ${formatDuration(retentionMs)}, before the dedupWindow ` +
        `of lane ${policy.lane} (${formatDuration(dedupWindowMs)}): a key published again later is a new operation`,
    );
}

async function retentionOf(connection: ConnectionLike, namespace: string): Promise<number> {
  const answer = await connection.workflowService.describeNamespace({ namespace });
  return Number(answer.config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1000;
}
