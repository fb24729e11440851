/** Draws that a seed decides: the same on every machine and in every run. */
export interface Random {
  /** a whole number from 0 to `below` - 1 */
  below(below: number): number;
  /** `count` different ones of the list, in an order of chance */
  pick<T>(list: readonly T[], count: number): T[];
}

/** @param seed a whole number from 0 to 2^32 - 1 */
export function randomFrom(seed: number): Random {
  let state = seed;
  /** mulberry32: 32 bits of state, and good enough to place faults. */
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(uniform() * limit);
  return {
    below,
    pick: (list, count) => {
      const left = [...list];
      return Array.from({ length: Math.min(count, left.length) }, () =>
        left.splice(below(left.length), 1),
      ).flat();
    },
  };
}
