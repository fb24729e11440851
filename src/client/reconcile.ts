import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import pMap from 'p-map';
import { digest } from '../domain/canonical.ts';
import type { Finding } from '../domain/delivery.ts';
import { DISPATCH_TASK_QUEUE, reconcileWorkflowId } from '../domain/ids.ts';
import { PAGE_LOOKUPS, type Question, type Reconciled } from '../domain/reconcile.ts';
import type { reconcile } from '../workflows/index.ts';
import { ONELANE_LANE } from '../workflows/visibility.ts';
import { checkLane } from './check-lane.ts';
import { itemsOf } from './lists.ts';
import { openLane } from './open-lane.ts';
import { type Askable, conclude, isAskable, subjectOf } from './reconcile-item.ts';
import { type Sample, drawSample } from './sample.ts';

/** Each lane has a pace of its own, so none waits for another. */
const LANES_AT_ONCE = 10;
/** Enough to hide the round trips, few enough for a small server. */
const READS_AT_ONCE = 20;

export interface ReconcileOptions {
  /** in whose name what is proved is settled */
  readonly by: string;
  /** this lane and its partitions only */
  readonly lane?: string | null;
  /** compares so many of those that succeeded, too */
  readonly sample?: Sample | null;
  /** hears each result as soon as it is there */
  readonly tell?: (result: Reconciled) => void;
  /** hears that a lane is about to be asked */
  readonly asking?: (lane: string, lookups: number) => void | Promise<void>;
  /** gives up what was not asked yet. What was settled stays so */
  readonly signal?: AbortSignal;
}

/**
 * Compares every uncertain item, every open claim (a call of it may have been applied, and its own next attempt will
 * ask) and on request a sample of those that succeeded, with the upstream's lookup. Uncertain ones are settled where
 * that proves something. It can be run again at any time, and interrupted at any time.
 *
 * @throws NotFoundError; whatever reason `signal` was aborted with
 */
export async function reconcileItems(client: Client, options: ReconcileOptions): Promise<Reconciled[]> {
  const { lane = null, sample = null, signal } = options;
  if (lane !== null) await checkLane(client, lane);
  const results: Reconciled[] = [];
  const tell = (result: Reconciled): void => {
    results.push(result);
    options.tell?.(result);
  };
  const keysByLane = await keysToAsk(client, lane, sample);
  await pMap(
    keysByLane,
    async ([name, keys]) => {
      for (let from = 0; from < keys.length; from += PAGE_LOOKUPS) {
        signal?.throwIfAborted();
        await reconcilePage(client, name, keys.slice(from, from + PAGE_LOOKUPS), { ...options, tell });
      }
    },
    { concurrency: LANES_AT_ONCE },
  );
  return results;
}

/** By lane, the keys of all that may have something to be asked about. */
async function keysToAsk(
  client: Client,
  lane: string | null,
  sample: Sample | null,
): Promise<Map<string, string[]>> {
  const byLane = new Map<string, string[]>();
  const add = ({ workflowId, typedSearchAttributes }: WorkflowExecutionInfo): void => {
    const name = typedSearchAttributes.get(ONELANE_LANE);
    if (name === undefined) return;
    const keys = byLane.get(name) ?? [];
    byLane.set(name, keys);
    keys.push(workflowId);
  };
  const query = `${itemsOf(lane)} AND CloseTime IS NULL AND OnelaneState != 'dead'`;
  for await (const open of client.workflow.list({ query })) add(open);
  if (sample !== null) for (const ended of await drawSample(client, lane, sample)) add(ended);
  return byLane;
}

async function reconcilePage(
  client: Client,
  lane: string,
  keys: readonly string[],
  { by, tell, asking, signal }: ReconcileOptions & { readonly tell: (result: Reconciled) => void },
): Promise<void> {
  const read = await pMap(keys, (key) => subjectOf(client, lane, key), { concurrency: READS_AT_ONCE });
  const askable: Askable[] = [];
  for (const subject of read) {
    if (subject === undefined) continue;
    if (isAskable(subject)) askable.push(subject);
    else tell({ key: subject.key, lane, kind: 'notAskable', state: subject.state });
  }
  if (askable.length === 0) return;
  // A partition's lane that had ended would leave the lookups waiting.
  await openLane(client, lane);
  await asking?.(lane, askable.length);
  const questions = askable.map(({ question }) => question);
  const findings = await ask(client, lane, questions, signal);
  await pMap(
    askable,
    async (subject, index) => {
      const finding = findings[index];
      if (finding === undefined)
        throw new TypeError(`reconcile of lane ${lane}: no finding for ${subject.key}`);
      tell({ key: subject.key, lane, ...(await conclude(client, subject, finding, by)) });
    },
    { concurrency: READS_AT_ONCE },
  );
}

/** Through the lane's slot, so that a lookup is a call like any other. */
async function ask(
  client: Client,
  lane: string,
  questions: readonly Question[],
  signal: AbortSignal | undefined,
): Promise<Finding[]> {
  const id = digest(questions.map(({ task, notBeforeMs }) => [task.key, task.path, notBeforeMs])).slice(
    0,
    16,
  );
  const handle = await client.workflow.start<typeof reconcile>('reconcile', {
    workflowId: reconcileWorkflowId(lane, id),
    taskQueue: DISPATCH_TASK_QUEUE,
    args: [{ lane, questions }],
    // Whoever was interrupted and asks the same again gets the answers that are under way.
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    // Left behind by somebody who was killed, in a lane that nobody opens again, it ends by itself.
    workflowExecutionTimeout: '1 day',
    typedSearchAttributes: [{ key: ONELANE_LANE, value: lane }],
    staticSummary: `asks the upstream of lane ${lane} about ${questions.length} items`,
  });
  const giveUp = (): void => void handle.cancel().catch(() => undefined);
  signal?.addEventListener('abort', giveUp);
  if (signal?.aborted) giveUp();
  try {
    return await handle.result();
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}
