import { type Admission, type Batch } from './batch.ts';
import { batchWorkflowId, laneName } from './ids.ts';
import type { ItemState } from './item.ts';
import { type ValidItem, judgeItem } from './judge-item.ts';
import type { LanePolicy } from './policy.ts';

/** Reasons quote what items hold, perhaps twice; 500 of them must fit a batch's answer, which Temporal takes up to 2 MiB. */
const MAX_REASON_LENGTH = 500;

/** A valid item that is the first of its batch to name its key: it asks for that key. */
export interface Candidate extends ValidItem {
  readonly position: number;
}

/** A valid item whose key an earlier position of its batch asks for already. */
export interface Follower extends Candidate {
  readonly of: Candidate;
}

/**
 * What can be said of a batch without asking anybody: which positions are rejected, which ask for a key, and
 * which can only be answered once it is known who got that key.
 */
export interface Triage {
  readonly rejected: Admission[];
  readonly candidates: Candidate[];
  readonly followers: Follower[];
}

export function triage(batch: Batch, policy: LanePolicy): Triage {
  const rejected: Admission[] = [];
  const candidates = new Map<string, Candidate>();
  const followers: Follower[] = [];
  batch.items.forEach((raw, position) => {
    const judged = judgeItem(raw, policy);
    if (!judged.ok) {
      const reason = shortened(judged.reason);
      rejected.push({ position, key: givenKey(raw), admission: 'rejected', reason });
      return;
    }
    const candidate: Candidate = { position, ...judged };
    const first = candidates.get(judged.item.key);
    if (first === undefined) candidates.set(judged.item.key, candidate);
    else followers.push({ ...candidate, of: first });
  });
  return { rejected, candidates: [...candidates.values()], followers };
}

function shortened(reason: string): string {
  return reason.length <= MAX_REASON_LENGTH ? reason : `${reason.slice(0, MAX_REASON_LENGTH)}…`;
}

function givenKey(raw: unknown): string | null {
  if (typeof raw !== 'object' || raw === null || !('key' in raw) || typeof raw.key !== 'string') return null;
  return raw.key.slice(0, 255);
}

/** Who holds a key in Temporal, as far as it can be read off a workflow. */
export type KeyHolder =
  | { kind: 'nobody' }
  | { kind: 'foreign'; workflowType: string }
  | { kind: 'item'; fingerprint: string; batch: string; position: number; state: ItemState };

/** Whether a batch, by its workflow ID, started this item at this position. */
export function isStartedBy(
  holder: Extract<KeyHolder, { kind: 'item' }>,
  batch: string,
  position: number,
): boolean {
  return holder.batch === batch && holder.position === position;
}

/** Answers a candidate whose key is taken, or undefined when it has become free. */
export function admitTaken(candidate: Candidate, holder: KeyHolder, batch: Batch): Admission | undefined {
  const { position } = candidate;
  const { key } = candidate.item;
  switch (holder.kind) {
    case 'nobody':
      return undefined;
    case 'foreign':
      return {
        position,
        key,
        admission: 'conflict',
        reason: `key: taken by a workflow of type ${holder.workflowType}`,
      };
    case 'item': {
      const ours = isStartedBy(holder, batchWorkflowId(batch.batchId, batch.page), position);
      if (holder.fingerprint !== candidate.fingerprint)
        return {
          position,
          key,
          admission: 'conflict',
          reason: `key: taken by another operation, of ${holder.batch}`,
        };
      // An earlier run of this batch started it: the answer is what it was then.
      if (ours) return { position, key, admission: 'accepted' };
      return { position, key, admission: 'duplicate', state: holder.state, batch: holder.batch };
    }
  }
}

/** Lanes that take nothing in any more, by their full names, each with the reason. */
export type DrainedLanes = Readonly<Record<string, string>>;

export function whyDrained({ item }: Candidate, lane: string, drained: DrainedLanes): string | undefined {
  const name = laneName(lane, item.partition ?? null);
  return Object.hasOwn(drained, name) ? drained[name] : undefined;
}

/** Answers a candidate whose key is free, but which is not started any more. */
export function rejectUnstarted({ position, item }: Candidate, because: string): Admission {
  return { position, key: item.key, admission: 'rejected', reason: because };
}

/**
 * Answers a later position of a key by whoever holds the key in the end, which need not be the first
 * position of this batch: that one may itself be in conflict with an older item.
 */
export function admitFollower(
  follower: Follower,
  first: Admission,
  holder: KeyHolder | undefined,
): Admission {
  const { position, of } = follower;
  const { key } = follower.item;
  const at = { position, key, of: of.position };
  if (first.admission === 'pending') return { position, key, admission: 'pending' };
  if (first.admission === 'rejected') return { position, key, admission: 'rejected', reason: first.reason };
  if (holder?.kind === 'foreign')
    return {
      ...at,
      admission: 'conflict',
      reason: `key: taken by a workflow of type ${holder.workflowType}`,
    };
  const held = holder?.kind === 'item' ? holder : { fingerprint: of.fingerprint, state: 'waiting' as const };
  if (held.fingerprint !== follower.fingerprint)
    return { ...at, admission: 'conflict', reason: 'key: taken by another operation' };
  return { ...at, admission: 'duplicate', state: held.state };
}
