import { z } from 'zod';
import { type Json, hasLoneSurrogate } from './json.ts';
import { RESERVED_KEY_PREFIXES, reservedPrefixOf } from './ids.ts';

/** Temporal refuses longer workflow IDs only at 1,000 bytes, but visibility stores cut them at 255. */
const MAX_KEY_BYTES = 255;
/** A payload travels through four histories and a heartbeat-sized slot of memory: larger things are stored elsewhere. */
export const MAX_PAYLOAD_BYTES = 256 * 1024;

const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/** What decides whether a text is a key: one pattern, by which clients of the HTTP service can check, too. */
const KEY_PATTERN = `^(?! |\\.{1,2}$|${RESERVED_KEY_PREFIXES.join('|')})[ -~]{0,${MAX_KEY_BYTES - 1}}[!-~]$`;
const KEY = new RegExp(KEY_PATTERN);

/**
 * Says what is wrong with an item's key, or undefined. A key is a workflow ID, a header value and perhaps a
 * segment of a URL, and must be the very same text in all three.
 */
export function keyFault(key: string): string | undefined {
  if (KEY.test(key)) return undefined;
  if (key === '') return 'expected 1 to 255 characters, got an empty text';
  if (!PRINTABLE_ASCII.test(key)) return 'expected printable ASCII only';
  if (key.length > MAX_KEY_BYTES) return `expected at most ${MAX_KEY_BYTES} bytes, got ${key.length}`;
  if (key.startsWith(' ') || key.endsWith(' '))
    return 'may not begin or end with a space, which headers drop';
  if (key === '.' || key === '..') return `"${key}" cannot be carried by a URL`;
  return `may not begin with "${reservedPrefixOf(key)}", which names onelane's own workflows`;
}

function refinedBy(fault: (text: string) => string | undefined) {
  return z.string().superRefine((text, context) => {
    const message = fault(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
}

/** Goes out as a header: a line break in it would end the header and begin another. */
function headerValueFault(text: string): string | undefined {
  return PRINTABLE_ASCII.test(text) && text.length <= 255 && text.trim() === text
    ? undefined
    : 'expected 1 to 255 printable ASCII characters, not beginning or ending with a space';
}

function nameFault(text: string): string | undefined {
  if (text === '' || text.length > 255) return 'expected 1 to 255 characters';
  return hasLoneSurrogate(text) ? 'text with a lone surrogate, which UTF-8 cannot carry' : undefined;
}

/** Says what is wrong with the name of a partition, or undefined. It becomes part of a lane's name. */
export function partitionFault(text: string): string | undefined {
  if (text.includes('/')) return 'may not contain "/", which separates lane and partition';
  // Whether a lane is idle is asked by name; with these in it, the server's visibility queries find nothing.
  if (/["'\\]/.test(text)) return "may not contain quotes or a backslash, which lists can't be asked for";
  return headerValueFault(text);
}

/** An item's key, also as a JSON schema. */
export const KeySchema = refinedBy(keyFault).meta({
  pattern: KEY_PATTERN,
  minLength: 1,
  maxLength: MAX_KEY_BYTES,
});

/** One logical operation as its publisher gives it. The key may be missing where the lane's template derives it. */
export const ItemSchema = z.strictObject({
  key: KeySchema.optional(),
  payload: z.custom<Json>((value) => value !== undefined, 'required: any JSON value'),
  operation: refinedBy(nameFault).optional(),
  version: z.union([refinedBy(nameFault), z.int()], 'expected a text or a whole number').optional(),
  partition: refinedBy(partitionFault).optional(),
  notBefore: z.iso
    .datetime({
      offset: true,
      error: 'expected an instant such as 2026-08-12T17:00:00Z, with Z or an offset',
    })
    .optional(),
  priority: z.int().min(1).max(5).optional(),
  correlationId: refinedBy(headerValueFault).optional(),
});
export type PublishedItem = z.infer<typeof ItemSchema>;

/** An item whose key and operation are settled: what `deliverItem` carries. */
export interface Item extends PublishedItem {
  readonly key: string;
  readonly operation: string;
}

/**
 * Stands in a batch where its reader could not make an item, e.g. for bad JSON at a line of a file, so that
 * the position is still answered: rejected, with this reason.
 */
export const UnreadableItemSchema = z.strictObject({
  unreadable: z.string().min(1),
  key: z.string().optional(),
});
export type UnreadableItem = z.infer<typeof UnreadableItemSchema>;

/** What has become of an item. `terminated` is never set by us: it is read off a workflow that was ended from outside. */
export const ITEM_STATES = [
  'waiting',
  'sending',
  'retrying',
  'succeeded',
  'dead',
  'uncertain',
  'discarded',
  'terminated',
] as const;
export type ItemState = (typeof ITEM_STATES)[number];

/** Open, and waiting for an operator. Keeps its key, never expires by itself. */
export type ParkedState = Extract<ItemState, 'dead' | 'uncertain'>;

export function isParked(state: ItemState): state is ParkedState {
  return state === 'dead' || state === 'uncertain';
}

/** Nothing more will happen to it by itself or by us: its workflow is closed. */
export function hasEnded(state: ItemState): boolean {
  return state === 'succeeded' || state === 'discarded' || state === 'terminated';
}
