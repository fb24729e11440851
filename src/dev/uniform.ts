import { createHash } from 'node:crypto';

/**
 * A number in [0, 1) that depends on nothing but its arguments, so that a run with the same seed meets the same
 * again. A hash of 48 bits needs no state between draws and is the same everywhere.
 */
export function uniform(seed: number, about: string, n: number): number {
  const hash = createHash('sha256')
    .update(JSON.stringify([seed, about, n]))
    .digest();
  return hash.readUIntBE(0, 6) / 2 ** 48;
}
