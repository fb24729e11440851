import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { describeIssues } from '../domain/batch.ts';
import { SCOPES, type Grant } from './caller.ts';

export const KEYS_FILE = '.onelane/api-keys.json';

const ID_BYTES = 4;
/** Nobody guesses 256 bits, so a plain hash of them is enough: no salt, no stretching. */
const SECRET_BYTES = 32;
const WRITE_WITHIN_MS = 5_000;
const NAME = /^[\x21-\x7e](?:[\x20-\x7e]{0,98}[\x21-\x7e])?$/;

const StoredKeySchema = z.strictObject({
  id: z.string().min(1),
  name: z
    .string()
    .regex(NAME, 'expected 1 to 100 printable ASCII characters, not beginning or ending with a space'),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits'),
  scopes: z.array(z.enum(SCOPES)).min(1, `expected some of ${SCOPES.join(', ')}`),
  lanes: z.union([z.literal('all'), z.array(z.string().min(1)).min(1)], 'expected "all" or names of lanes'),
  createdAt: z.iso.datetime(),
});
const KeysFileSchema = z.strictObject({ keys: z.array(StoredKeySchema) });
/** A key as it is kept: whoever reads the file can't use it. */
export type StoredKey = z.infer<typeof StoredKeySchema>;

/** The keys file can't be used. Names no hash and no key. */
export class KeysFileError extends Error {
  override readonly name = 'KeysFileError';
}

/** @returns undefined when there is no such file
 *  @throws KeysFileError */
export function readKeys(file: string): readonly StoredKey[] | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new KeysFileError(`${file}: cannot be read: ${messageOf(error)}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new KeysFileError(`${file}: expected JSON, as "onelane keys" writes it`);
  }
  const parsed = KeysFileSchema.safeParse(value);
  if (!parsed.success) throw new KeysFileError(`${file}: ${describeIssues(parsed.error, 'file')}`);
  return parsed.data.keys;
}

/**
 * Makes a key and stores its hash.
 *
 * @returns the key itself, which nobody can read again
 * @throws KeysFileError
 */
export async function createKey(
  file: string,
  name: string,
  { scopes, lanes }: Grant,
): Promise<{ key: string; stored: StoredKey }> {
  const id = randomBytes(ID_BYTES).toString('hex');
  const key = `onelane_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  const stored: StoredKey = {
    id,
    name,
    sha256: hashOf(key).toString('hex'),
    scopes: [...new Set(scopes)],
    lanes: lanes === 'all' ? 'all' : [...new Set(lanes)],
    createdAt: new Date().toISOString(),
  };
  const parsed = StoredKeySchema.safeParse(stored);
  if (!parsed.success) throw new KeysFileError(describeIssues(parsed.error, 'key'));
  await change(file, (keys) => [...keys, stored]);
  return { key, stored };
}

/** @returns the key that is no longer valid; undefined when there is none of that ID
 *  @throws KeysFileError */
export async function revokeKey(file: string, id: string): Promise<StoredKey | undefined> {
  let revoked: StoredKey | undefined;
  await change(file, (keys) => {
    revoked = keys.find((key) => key.id === id);
    return keys.filter((key) => key.id !== id);
  });
  return revoked;
}

export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Replaces the file as a whole. The new one, while it is written, keeps other writers out. */
async function change(
  file: string,
  changed: (keys: readonly StoredKey[]) => readonly StoredKey[],
): Promise<void> {
  const next = `${file}.new`;
  mkdirSync(dirname(file), { recursive: true });
  await claim(next);
  try {
    writeFileSync(next, `${JSON.stringify({ keys: changed(readKeys(file) ?? []) }, undefined, 2)}\n`);
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}

async function claim(next: string): Promise<void> {
  const giveUpAt = performance.now() + WRITE_WITHIN_MS;
  for (;;) {
    try {
      writeFileSync(next, '', { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      const taken = error instanceof Error && 'code' in error && error.code === 'EEXIST';
      if (!taken) throw new KeysFileError(`${next}: cannot be written: ${messageOf(error)}`);
      if (performance.now() > giveUpAt)
        throw new KeysFileError(`${next}: is being written; if nobody does, remove it`);
      await sleep(50);
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
