import { ApplicationFailure, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { ScheduleActivities } from '../activities/contract.ts';
import { describeIssues } from '../domain/batch.ts';
import { parseFiringWorkflowId } from '../domain/ids.ts';
import { type Firing, FiringSchema, type WindowPublished } from '../domain/window.ts';

/** With the backoff below, about an hour: then the window is listed as missed, and a person decides. */
const ATTEMPTS = 65;

const { findWindow } = proxyActivities<ScheduleActivities>({
  summary: 'Which window it is, and whether it was published before',
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
});
const { publishWindow: publishItsItems } = proxyActivities<ScheduleActivities>({
  summary: 'Asks the source, and publishes what it answers',
  // A hundred thousand items take minutes; one attempt that makes no progress at all ends here.
  startToCloseTimeout: '2h',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '1s', maximumInterval: '1m', backoffCoefficient: 2, maximumAttempts: ATTEMPTS },
});

/**
 * One firing of a schedule: publishes the window that it closes as one batch. Its workflow ID says whose firing it is
 * and of when, so that it can be started again, by whoever and however often, and publishes nothing twice.
 *
 * @param input a `Firing`, from the schedule or from a backfill
 * @throws ApplicationFailure when the window could not be published; it may be tried again
 */
export async function publishWindow(input: unknown): Promise<WindowPublished> {
  const { workflowId, runId } = workflowInfo();
  const named = parseFiringWorkflowId(workflowId);
  if (named === undefined)
    throw refused(
      `workflow ID: expected schedule/<name>-<time>, such as …-2026-08-12T17:00:00Z, got "${workflowId}"`,
    );
  const firing = acceptInput(input);

  setCurrentDetails(`Looks for the window that ends at ${named.firedAt}.`);
  const found = await findWindow({ ...named, workflowId, runId });
  if (found.kind === 'published') {
    setCurrentDetails('An earlier run has published this window.');
    return found.published;
  }
  const { window } = found;
  setCurrentDetails(`Asks source ${firing.source} for the window from ${window.start} to ${window.end}.`);
  const published = await publishItsItems({ ...firing, schedule: named.schedule, window });
  setCurrentDetails(describe(published));
  return published;
}

function acceptInput(input: unknown): Firing {
  const parsed = FiringSchema.safeParse(input);
  if (!parsed.success) throw refused(describeIssues(parsed.error, 'firing'));
  return parsed.data;
}

function describe({ start, end, batchId, items }: WindowPublished): string {
  return batchId === null
    ? `There were no items from ${start} to ${end}.`
    : `Published ${items} items from ${start} to ${end} as batch ${batchId}.`;
}

function refused(reason: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(reason, 'FiringRefused');
}
