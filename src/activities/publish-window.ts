import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { BatchIdTakenError, BatchRefusedError } from '../client/errors.ts';
import { quoted } from '../client/lists.ts';
import { previousFiring } from '../client/matching-times.ts';
import { publishWhole } from '../client/publish-whole.ts';
import type { SourceConfig } from '../config/source.ts';
import { windowBatchId } from '../domain/ids.ts';
import { type WindowPublished, WindowPublishedSchema, instantText } from '../domain/window.ts';
import type { ScheduleActivities, WindowTask } from './contract.ts';
import { SourceError, readSource } from './read-source.ts';

const BEAT_EVERY_MS = 5_000;

export interface ScheduleParts {
  readonly client: Client;
  readonly sources: ReadonlyMap<string, SourceConfig>;
}

/** What firings of schedules ask of the outside world. Run by every worker that dispatches. */
export function scheduleActivities({ client, sources }: ScheduleParts): ScheduleActivities {
  return {
    async findWindow({ schedule, firedAt, workflowId, runId }) {
      const earlier = await earlierRun(client, workflowId, runId);
      if (earlier !== null) return { kind: 'published', published: earlier };
      const firedAtMs = Date.parse(firedAt);
      const found = await previousFiring(client, schedule, firedAtMs);
      if (!found.isFiring)
        throw ApplicationFailure.nonRetryable(
          `${firedAt} is no time at which schedule ${schedule} fires. To publish a window by hand: ` +
            `onelane schedule backfill ${schedule}`,
          'NoWindow',
        );
      return { kind: 'open', window: { start: instantText(found.previousMs), end: firedAt } };
    },
    async publishWindow(task) {
      const source = sources.get(task.source);
      if (source === undefined)
        throw ApplicationFailure.nonRetryable(
          `source: expected one of ${[...sources.keys()].join(', ') || 'those in lanes.yaml, which has none'}, got "${task.source}"`,
          'UnknownSource',
        );
      const { cancellationSignal } = Context.current();
      const beat = setInterval(() => Context.current().heartbeat(), BEAT_EVERY_MS);
      try {
        const items = await readSource(source, task, cancellationSignal);
        return await publishItems(client, task, items);
      } catch (error) {
        throw asFailure(error, task);
      } finally {
        clearInterval(beat);
      }
    },
  };
}

/** Also when somebody asks for a published window again: then its source is left alone. */
async function earlierRun(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<WindowPublished | null> {
  const query = `WorkflowId = ${quoted(workflowId)} AND ExecutionStatus = 'Completed'`;
  for await (const execution of client.workflow.list({ query })) {
    if (execution.runId === runId) continue;
    const result: unknown = await client.workflow.getHandle(workflowId, execution.runId).result();
    return WindowPublishedSchema.parse(result);
  }
  return null;
}

async function publishItems(
  client: Client,
  task: WindowTask,
  items: readonly unknown[],
): Promise<WindowPublished> {
  const { schedule, window, lane } = task;
  const none = { ...window, batchId: null, items: 0, accepted: 0, duplicate: 0, conflict: 0, rejected: 0 };
  if (items.length === 0) return none;
  const batchId = windowBatchId(schedule, window.start);
  const counts = await publishWhole(client, { batchId, lane, publisher: `schedule:${schedule}`, items });
  return { ...none, ...counts, batchId, items: items.length };
}

/** What cannot pass by itself ends the firing: then its window is listed as missed, with this reason. */
function asFailure(error: unknown, { schedule, source, window }: WindowTask): unknown {
  if (error instanceof SourceError)
    return ApplicationFailure.create({
      type: 'SourceFailed',
      message: `source ${source}: ${error.message}`,
      nonRetryable: !error.mayPass,
      ...(error.retryAfterMs === undefined ? {} : { nextRetryDelay: error.retryAfterMs }),
    });
  if (error instanceof BatchIdTakenError)
    return ApplicationFailure.nonRetryable(
      `batch ${windowBatchId(schedule, window.start)}: it was published with other items. ` +
        'A source must answer the same for a window whenever it is asked',
      'WindowTaken',
    );
  if (error instanceof BatchRefusedError)
    return ApplicationFailure.nonRetryable(error.message, 'BatchRefused');
  return error;
}
