import {
  type Client,
  QueryNotRegisteredError,
  ServiceError,
  type WorkflowExecutionDescription,
} from '@temporalio/client';
import pMap from 'p-map';
import { z } from 'zod';
import {
  type Candidate,
  type DrainedLanes,
  type KeyHolder,
  admitFollower,
  admitTaken,
  rejectDrained,
  triage,
  whyDrained,
} from '../domain/admission.ts';
import {
  type Admission,
  type Batch,
  type BatchProgress,
  contentHash,
  countBatch,
  parseBatch,
} from '../domain/batch.ts';
import { batchWorkflowId } from '../domain/ids.ts';
import type { ItemState } from '../domain/item.ts';
import { type LanePolicy, LanePolicySchema } from '../domain/policy.ts';
import type { dispatchBatch } from '../workflows/index.ts';
import { progress } from '../workflows/messages.ts';
import { NotFoundError } from './errors.ts';
import { readHistory } from './history.ts';
import { describeOrUndefined, keyHolder } from './key-holder.ts';

/** A worker answers a query within milliseconds; after this long none is there, or it is far behind. */
const QUERY_WITHIN_MS = 5_000;
/** Enough to hide the round trips, few enough for a small server. */
const LOOKUPS_AT_ONCE = 20;

export interface BatchStatus extends BatchProgress {
  readonly publisher: string | null;
  /** Temporal's status of the batch's own workflow, e.g. RUNNING; its items may go on without it */
  readonly workflow: string;
  /**
   * `workflow`: told by the batch's own workflow. `history`: no worker answered, or the workflow was ended
   * from outside, so the answer is put together from its history and from its items.
   */
  readonly from: 'workflow' | 'history';
}

/** @throws NotFoundError */
export async function batchStatus(client: Client, batchId: string, page = 0): Promise<BatchStatus> {
  const workflowId = batchWorkflowId(batchId, page);
  const description = await describeOrUndefined(client, workflowId);
  if (description === undefined) throw new NotFoundError(`batch "${batchId}": no workflow ${workflowId}`);
  const workflow = description.status.name;
  const told = await toldByWorkflow(client, description);
  const { batch, plan } = await readBatch(client, description);
  const publisher = batch.publisher ?? null;
  if (told !== undefined) return { ...told, publisher, workflow, from: 'workflow' };
  return { ...(await fromItems(client, batch, plan)), publisher, workflow, from: 'history' };
}

async function toldByWorkflow(
  client: Client,
  { workflowId, runId, status }: WorkflowExecutionDescription,
): Promise<BatchProgress | undefined> {
  const handle = client.workflow.getHandle<typeof dispatchBatch>(workflowId, runId);
  if (status.name === 'COMPLETED') return await handle.result();
  if (status.name !== 'RUNNING') return undefined;
  try {
    return await client.withDeadline(Date.now() + QUERY_WITHIN_MS, () => handle.query(progress));
  } catch (error) {
    // No worker polls, none answered in time, or the workflow has not had its first task yet.
    if (error instanceof ServiceError || error instanceof QueryNotRegisteredError) return undefined;
    throw error;
  }
}

const PreparedSchema = z.object({ policy: LanePolicySchema });
const DrainedSchema = z.record(z.string(), z.string());

interface Plan {
  readonly policy: LanePolicy;
  readonly drained: DrainedLanes;
}

/** What was published, and the policy by which it is dispatched, if it came so far. */
async function readBatch(
  client: Client,
  { workflowId, runId }: WorkflowExecutionDescription,
): Promise<{ batch: Batch; plan: Plan | undefined }> {
  const { input, activityResults } = await readHistory(client, workflowId, runId);
  const parsed = parseBatch(input);
  if (!parsed.ok) throw new NotFoundError(`${workflowId} is not a batch: ${parsed.reason}`);
  const firstResult = (asked: string) =>
    activityResults.find(({ activityType }) => activityType === asked)?.result;
  const policy = PreparedSchema.safeParse(firstResult('prepareDispatch')).data?.policy;
  const drained = DrainedSchema.safeParse(firstResult('openLanes')).data ?? {};
  return { batch: parsed.batch, plan: policy && { policy, drained } };
}

/** Judges each position as the workflow would, except that whoever was not started yet is still `pending`. */
async function fromItems(client: Client, batch: Batch, plan: Plan | undefined): Promise<BatchProgress> {
  const admissions: Admission[] = batch.items.map((_, position) => ({
    position,
    key: null,
    admission: 'pending',
  }));
  const states: { [key: string]: ItemState } = {};
  if (plan !== undefined) {
    const { rejected, candidates, followers } = triage(batch, plan.policy);
    const answers = [...rejected];
    const holders = await pMap(candidates, ({ item }) => keyHolder(client, item.key), {
      concurrency: LOOKUPS_AT_ONCE,
    });
    const holderOf = new Map(candidates.map((candidate, index) => [candidate, holders[index]]));
    const firstOf = new Map<Candidate, Admission>();
    for (const [candidate, holder] of holderOf) {
      const admission = admitHeld(candidate, holder, batch, plan);
      firstOf.set(candidate, admission);
      answers.push(admission);
      if (admission.admission === 'accepted' && holder?.kind === 'item') states[admission.key] = holder.state;
    }
    for (const follower of followers)
      answers.push(
        admitFollower(follower, firstOf.get(follower.of) ?? pendingAt(follower), holderOf.get(follower.of)),
      );
    for (const answer of answers) admissions[answer.position] = answer;
  }
  return {
    batchId: batch.batchId,
    lane: batch.lane,
    content: contentHash(batch),
    admitted: admissions.every(({ admission }) => admission !== 'pending'),
    admissions,
    states,
    counts: countBatch(admissions, states),
  };
}

function admitHeld(
  candidate: Candidate,
  holder: KeyHolder | undefined,
  batch: Batch,
  { drained }: Plan,
): Admission {
  const taken = holder && admitTaken(candidate, holder, batch);
  if (taken !== undefined) return taken;
  const because = whyDrained(candidate, batch.lane, drained);
  return because === undefined ? pendingAt(candidate) : rejectDrained(candidate, because);
}

function pendingAt({ position, item }: Candidate): Admission {
  return { position, key: item.key, admission: 'pending' };
}
