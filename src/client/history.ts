import type { Client, WorkflowHandle } from '@temporalio/client';
import { decodePayloads } from './payloads.ts';

/** The SDK's own type, which it does not export by name. */
type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

/** A workflow's history, decoded as far as onelane reads it. */
export interface ReadHistory {
  /** the workflow's first argument */
  readonly input: unknown;
  /** results of completed activities, oldest first */
  readonly activityResults: readonly { activityType: string; result: unknown }[];
}

/**
 * Reads what a workflow was given and what its activities returned, from the history alone: it can be read
 * with no worker running, which a query can't.
 */
export async function readHistory(client: Client, workflowId: string, runId: string): Promise<ReadHistory> {
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const events = history.events ?? [];
  const [input] = await decodePayloads(
    client,
    events[0]?.workflowExecutionStartedEventAttributes?.input?.payloads,
  );
  const types = new Map(events.map((event) => [String(event.eventId), scheduledType(event)]));
  const activityResults = [];
  for (const event of events) {
    const completed = event.activityTaskCompletedEventAttributes;
    if (!completed) continue;
    const activityType = types.get(String(completed.scheduledEventId));
    const [result] = await decodePayloads(client, completed.result?.payloads);
    if (activityType) activityResults.push({ activityType, result });
  }
  return { input, activityResults };
}

function scheduledType(event: HistoryEvent): string | undefined {
  return event.activityTaskScheduledEventAttributes?.activityType?.name ?? undefined;
}
