import { canonicalText, digest, utf8Length } from './canonical.ts';
import { type Admission, type Batch, describeIssues } from './batch.ts';
import { batchWorkflowId, laneName } from './ids.ts';
import {
  type Item,
  type ItemState,
  type PublishedItem,
  ItemSchema,
  MAX_PAYLOAD_BYTES,
  UnreadableItemSchema,
  keyFault,
  partitionFault,
} from './item.ts';
import { type Json, jsonFault } from './json.ts';
import type { LanePolicy } from './policy.ts';
import { fillKey, fillPath, parseTemplate } from './template.ts';

/** Reasons quote what items hold, perhaps twice; 500 of them must fit a batch's answer, which Temporal takes up to 2 MiB. */
const MAX_REASON_LENGTH = 500;

/** A valid item that is the first of its batch to name its key: it asks for that key. */
export interface Candidate {
  readonly position: number;
  readonly item: Item;
  readonly fingerprint: string;
  readonly path: string;
  /** null where the upstream can't be asked */
  readonly lookupPath: string | null;
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

type Judged = ({ ok: true } & Omit<Candidate, 'position'>) | { ok: false; reason: string };

/** Validates one item by the lane's policy and settles its key, its operation and its path. */
function judgeItem(raw: unknown, policy: LanePolicy): Judged {
  const unreadable = UnreadableItemSchema.safeParse(raw);
  if (unreadable.success) return { ok: false, reason: unreadable.data.unreadable };
  // Depth first: everything after this may recurse.
  const fault = jsonFault(raw, 'item');
  if (fault !== undefined) return { ok: false, reason: fault.replace(/^item\.(?=.)/, '') };
  const parsed = ItemSchema.safeParse(raw);
  if (!parsed.success) return { ok: false, reason: describeIssues(parsed.error, 'item') };
  const bytes = utf8Length(canonicalText(parsed.data.payload));
  if (bytes > MAX_PAYLOAD_BYTES) {
    const reason = `payload: expected at most ${MAX_PAYLOAD_BYTES} bytes (256 KiB), got ${bytes}; store it elsewhere and send a reference`;
    return { ok: false, reason };
  }
  const partition = partitionOf(parsed.data, policy);
  if (!partition.ok) return partition;
  const { partition: _given, ...item } = parsed.data;
  return settleItem(partition.name === null ? item : { ...item, partition: partition.name }, policy);
}

/** Which of the lane's partitions the item belongs to: given, or found in its payload. */
function partitionOf({ partition, payload }: PublishedItem, policy: LanePolicy) {
  if (policy.partitionBy === null) {
    if (partition === undefined) return { ok: true, name: null } as const;
    return { ok: false, reason: `partition: lane "${policy.lane}" is not partitioned` } as const;
  }
  const { field, names } = policy.partitionBy;
  const found = field === 'partition' ? partition : fieldOf(payload, field.split('.').slice(1));
  if (typeof found !== 'string')
    return { ok: false, reason: `${field}: expected the partition, got ${typeof found}` } as const;
  const fault =
    partitionFault(found) ??
    (partition !== undefined && partition !== found
      ? `"${found}" differs from partition "${partition}"`
      : undefined);
  if (fault !== undefined) return { ok: false, reason: `${field}: ${fault}` } as const;
  if (names !== null && !names.includes(found))
    return { ok: false, reason: `${field}: expected one of ${names.join(', ')}, got "${found}"` } as const;
  return { ok: true, name: found } as const;
}

function fieldOf(value: Json | undefined, path: readonly string[]): Json | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
    return undefined;
  return fieldOf(value[name], rest);
}

function settleItem(published: PublishedItem, policy: LanePolicy): Judged {
  const operation = operationOf(published, policy);
  if (!operation.ok) return operation;
  const named = { ...published, operation: operation.name };
  const key = keyOf(named, policy);
  if (!key.ok) return key;
  const item: Item = { ...named, key: key.text };
  const path = fillPath(parseTemplate(operation.path), item);
  if (!path.ok) return { ok: false, reason: `${path.reason} (path of operation "${operation.name}")` };
  const lookupPath = lookupPathOf(item, policy);
  if (!lookupPath.ok) return lookupPath;
  return {
    ok: true,
    item,
    fingerprint: fingerprint(policy.lane, item),
    path: path.text,
    lookupPath: lookupPath.text,
  };
}

function lookupPathOf(item: Item, { lookupPath }: LanePolicy) {
  if (lookupPath === null) return { ok: true, text: null } as const;
  const filled = fillPath(parseTemplate(lookupPath), item);
  return filled.ok ? filled : ({ ok: false, reason: `${filled.reason} (path of the lookup)` } as const);
}

function operationOf(item: PublishedItem, policy: LanePolicy) {
  const names = Object.keys(policy.operations);
  const name = item.operation ?? (names.length === 1 ? names[0] : undefined);
  const operation =
    name !== undefined && Object.hasOwn(policy.operations, name) ? policy.operations[name] : undefined;
  if (name === undefined || operation === undefined) {
    const got = name === undefined ? 'none' : `"${name}"`;
    return { ok: false, reason: `operation: expected one of ${names.join(', ')}, got ${got}` } as const;
  }
  return { ok: true, name, path: operation.path } as const;
}

function keyOf(item: PublishedItem, policy: LanePolicy) {
  if (item.key !== undefined) return { ok: true, text: item.key } as const;
  if (policy.keyTemplate === null)
    return { ok: false, reason: `key: required, since lane "${policy.lane}" has no key template` } as const;
  const filled = fillKey(parseTemplate(policy.keyTemplate), item);
  if (!filled.ok) return filled;
  const fault = keyFault(filled.text);
  if (fault !== undefined) return { ok: false, reason: `key derived as "${filled.text}": ${fault}` } as const;
  return filled;
}

/** SHA-256 over what makes the operation. Who asks for it, when, and how urgently, does not. */
export function fingerprint(lane: string, item: Item): string {
  return digest({
    lane,
    partition: item.partition ?? null,
    operation: item.operation,
    version: item.version ?? null,
    payload: item.payload,
  });
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
