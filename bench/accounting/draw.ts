import { uniform } from '../../src/dev/uniform.ts';

/** Draws by lot, the same for the same seed. What is drawn for one thing changes nothing about another. */
export class Draw {
  readonly #seed: number;
  readonly #about: string;
  #drawn = 0;

  constructor(seed: number, about: string) {
    this.#seed = seed;
    this.#about = about;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1));
  }

  one<T>(of: readonly T[]): T {
    const drawn = of[this.between(0, of.length - 1)];
    if (drawn === undefined) throw new Error('expected something to draw from, got an empty list');
    return drawn;
  }

  shuffled<T>(of: readonly T[]): T[] {
    return of
      .map((member) => ({ member, place: this.#next() }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ member }) => member);
  }

  #next(): number {
    return uniform(this.#seed, this.#about, this.#drawn++);
  }
}
