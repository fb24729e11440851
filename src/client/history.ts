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
  /** the first arguments of scheduled activities, oldest first */
  readonly activityInputs: readonly { activityType: string; input: unknown }[];
  /** what updates were answered that were not refused, oldest first */
  readonly updateAnswers: readonly { answer: unknown }[];
  /** the first arguments of signals, oldest first */
  readonly signals: readonly { signalName: string; input: unknown }[];
}

/**
 * Reads what a workflow was given and what its activities returned, from the history alone: it can be read
 * with no worker running, which a query can't.
 */
export async function readHistory(client: Client, workflowId: string, runId: string): Promise<ReadHistory> {
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const events = history.events ?? [];
  const first = async (payloads: Payloads): Promise<unknown> =>
    (await decodePayloads(client, payloads?.payloads))[0];
  const types = new Map(events.map((event) => [String(event.eventId), scheduledType(event)]));
  const [input, activityResults, activityInputs, updateAnswers, signals] = await Promise.all([
    first(events[0]?.workflowExecutionStartedEventAttributes?.input),
    collect(events, async ({ activityTaskCompletedEventAttributes: completed }) => {
      const activityType = types.get(String(completed?.scheduledEventId));
      return activityType && { activityType, result: await first(completed?.result) };
    }),
    collect(events, async (event) => {
      const activityType = scheduledType(event);
      return (
        activityType && {
          activityType,
          input: await first(event.activityTaskScheduledEventAttributes?.input),
        }
      );
    }),
    collect(events, async ({ workflowExecutionUpdateCompletedEventAttributes: completed }) => {
      const answer = completed?.outcome?.success;
      return answer && { answer: await first(answer) };
    }),
    collect(events, async ({ workflowExecutionSignaledEventAttributes: signaled }) => {
      const signalName = signaled?.signalName;
      return signalName && { signalName, input: await first(signaled?.input) };
    }),
  ]);
  return { input, activityResults, activityInputs, updateAnswers, signals };
}

type Payloads = { readonly payloads?: Parameters<typeof decodePayloads>[1] } | null | undefined;

/** What is found in events, in their order, one or none in each. */
async function collect<T extends object>(
  events: readonly HistoryEvent[],
  find: (event: HistoryEvent) => Promise<T | '' | null | undefined>,
): Promise<T[]> {
  const found = await Promise.all(events.map(find));
  return found.filter((one): one is Awaited<T> & T => Boolean(one));
}

function scheduledType(event: HistoryEvent): string | undefined {
  return event.activityTaskScheduledEventAttributes?.activityType?.name ?? undefined;
}
