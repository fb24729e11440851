/** An upstream that knows the truth about one key: how often it was done, and what is still on its way. */
export class ModelUpstream {
  /** how long it knows the key again; null: it takes none */
  readonly #windowMs: number | null;
  #effects = 0;
  #knownUntilMs = -Infinity;
  #underWay: number[] = [];

  constructor(windowMs: number | null) {
    this.#windowMs = windowMs;
  }

  get done(): boolean {
    return this.#effects > 0;
  }

  /** It was done, or a call that is still on its way will have it done. */
  get mayBeDone(): boolean {
    return this.done || this.#underWay.length > 0;
  }

  /** Once everything has arrived. */
  get effectsInTheEnd(): number {
    this.until(Infinity);
    return this.#effects;
  }

  apply(atMs: number): void {
    if (atMs < this.#knownUntilMs) return;
    this.#effects++;
    this.#knownUntilMs = this.#windowMs === null ? -Infinity : atMs + this.#windowMs;
  }

  /** A call whose end nobody knows. A late one arrives within its timeout. */
  receive(applied: 'now' | 'late' | 'never', atMs: number, timeoutMs: number): void {
    if (applied === 'now') this.apply(atMs);
    if (applied === 'late') this.#underWay.push(atMs + timeoutMs - 1);
  }

  until(nowMs: number): void {
    const arrived = this.#underWay.filter((atMs) => atMs <= nowMs).sort((a, b) => a - b);
    this.#underWay = this.#underWay.filter((atMs) => atMs > nowMs);
    for (const atMs of arrived) this.apply(atMs);
  }
}
