import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { laneWorkflowId } from '../../src/domain/ids.ts';

const { EventType } = proto.temporal.api.enums.v1;

/** What happened in a lane's newest run, one line per event: when, what, to which activity, by which process. */
export async function laneHistory(client: Client, lane: string): Promise<string> {
  let history: proto.temporal.api.history.v1.IHistory;
  try {
    history = await client.workflow.getHandle(laneWorkflowId(lane)).fetchHistory();
  } catch (error) {
    return `no history: ${error instanceof Error ? error.message : String(error)}\n`;
  }
  return (history.events ?? []).map((event) => `${lineOf(event)}\n`).join('');
}

function lineOf(event: proto.temporal.api.history.v1.IHistoryEvent): string {
  const { seconds, nanos } = event.eventTime ?? {};
  const at = new Date(Number(seconds ?? 0) * 1_000 + Math.floor((nanos ?? 0) / 1e6)).toISOString();
  const what = EventType[event.eventType ?? 0]?.replace('EVENT_TYPE_', '') ?? 'UNKNOWN';
  const scheduled = event.activityTaskScheduledEventAttributes;
  const started = event.activityTaskStartedEventAttributes ?? event.workflowTaskStartedEventAttributes;
  const attempt = event.activityTaskStartedEventAttributes?.attempt;
  const details = [
    scheduled?.activityType?.name,
    scheduled?.taskQueue?.name,
    started?.identity,
    attempt && attempt > 1 ? `attempt ${attempt}` : undefined,
    event.workflowExecutionSignaledEventAttributes?.signalName,
  ];
  return [at, what, ...details.filter((detail) => detail)].join('  ');
}
