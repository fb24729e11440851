/** The right to make one call, from entering the gate until the item that made it is done with the lane. */
export interface Turn {
  /** Lets the next one in. To be called when what the call taught is stored, or when no call came of it. */
  end(): void;
}

/** A place in the line of those who wait for a turn. */
export interface Place {
  /** whether its turn has come, if so many may be out at once */
  isNext(turns: number): boolean;
  take(): Turn;
  /** To be called whether or not a turn was taken. */
  leave(): void;
}

/** Who may make a call, in the order of asking. How many at once, and when, is for whoever asks to say. */
export class Turns {
  readonly #line: Place[] = [];
  readonly #out = new Set<Turn>();
  readonly #changed: () => void;

  /** @param changed is told whenever somebody else may be next */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  line(): Place {
    const place: Place = {
      isNext: (turns) => place === this.#line[0] && this.#out.size < turns,
      take: () => this.#turn(),
      leave: () => {
        this.#line.splice(this.#line.indexOf(place), 1);
        this.#changed();
      },
    };
    this.#line.push(place);
    return place;
  }

  #turn(): Turn {
    const turn: Turn = {
      end: () => {
        this.#out.delete(turn);
        this.#changed();
      },
    };
    this.#out.add(turn);
    return turn;
  }

  /** Somebody has a turn, or waits for one. */
  get busy(): boolean {
    return this.#out.size > 0 || this.#line.length > 0;
  }
}
