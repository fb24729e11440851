import { timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import { Caller } from './caller.ts';
import { type StoredKey, hashOf, readKeys } from './keys-file.ts';

/** The keys of a file, as it is now: one that is revoked is refused from the next request on. */
export class KeyRing {
  readonly #file: string;
  #keys: readonly StoredKey[];
  #seen: string;

  /** @throws KeysFileError */
  constructor(file: string) {
    this.#file = file;
    this.#seen = versionOf(file);
    this.#keys = readKeys(file) ?? [];
  }

  get size(): number {
    return this.#keys.length;
  }

  /**
   * Who presents this key; undefined when it is nobody's. Compares with every stored hash in constant time, so that
   * how long it takes tells nothing.
   *
   * @throws KeysFileError when the file was changed and can't be read
   */
  callerOf(presented: string): Caller | undefined {
    this.#refresh();
    const hash = hashOf(presented);
    let found: StoredKey | undefined;
    for (const key of this.#keys) if (timingSafeEqual(hash, Buffer.from(key.sha256, 'hex'))) found = key;
    return found && new Caller(found.name, found.id, found);
  }

  /** A file that is gone has no keys: nothing opens because somebody deleted it. */
  #refresh(): void {
    const version = versionOf(this.#file);
    if (version === this.#seen) return;
    this.#keys = readKeys(this.#file) ?? [];
    this.#seen = version;
  }
}

/** Another for every change, since the file is replaced as a whole. */
function versionOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? 'none' : `${stat.ino}:${stat.mtimeMs}:${stat.size}`;
}
