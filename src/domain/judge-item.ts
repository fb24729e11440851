import { canonicalText, digest, utf8Length } from './canonical.ts';
import { describeIssues } from './batch.ts';
import {
  type Item,
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

/** An item whose key, operation and paths are settled. */
export interface ValidItem {
  readonly item: Item;
  readonly fingerprint: string;
  readonly path: string;
  /** null where the upstream can't be asked */
  readonly lookupPath: string | null;
}

type Judged = ({ ok: true } & ValidItem) | { ok: false; reason: string };

/** Validates one item by the lane's policy and settles its key, its operation and its path. */
export function judgeItem(raw: unknown, policy: LanePolicy): Judged {
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
