import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import canonicalize from 'canonicalize';
import { type Json, MAX_JSON_DEPTH } from './json.ts';

/** The one text of a JSON value (RFC 8785): the same for every writer, so it can be hashed and compared. */
export function canonicalText(value: Json): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError(`JSON has no text for ${typeof value}`);
  return text;
}

export function utf8Length(text: string): number {
  return utf8ToBytes(text).length;
}

/** SHA-256 over the canonical text, as hex. */
export function digest(value: Json): string {
  return bytesToHex(sha256(utf8ToBytes(canonicalText(value))));
}

/**
 * Cuts an item, or what should be one, where it nests deeper than any valid item, so that hashing a hostile one
 * can't overflow the stack. Two that differ only below the cut are both rejected, for the same reason.
 */
export function boundDepth(value: unknown, depth = 0): Json {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  // JSON.parse makes Infinity of 1e400, and no text can be made of that again.
  if (typeof value === 'number') return Number.isFinite(value) ? value : `(${value})`;
  if (typeof value !== 'object') return `(${typeof value})`;
  if (depth > MAX_JSON_DEPTH) return '(nested too deep)';
  if (Array.isArray(value)) return value.map((member) => boundDepth(member, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      // JSON leaves such members out, so whoever reads the value after it was sent must get the same hash.
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, boundDepth(member, depth + 1)]),
  );
}
