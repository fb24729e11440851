import type { LoggedCall } from './calls.ts';

/** A call, as a report names it. */
export interface CallReference {
  readonly call: string;
  readonly key: string;
  readonly lane: string;
  readonly epoch: number;
  readonly process: string;
  /** epoch ms */
  readonly leftAt: number;
}

export interface Violation {
  /** one sentence */
  readonly says: string;
  /** those that broke the rule together, the one that should not have left (yet) last */
  readonly calls: readonly CallReference[];
}

export interface Check {
  readonly ok: boolean;
  /** how many there are */
  readonly found: number;
  /** the first of them */
  readonly violations: readonly Violation[];
}

/** A lane that broke a rule all day would make a report as long as its log, and say no more. */
const MOST_LISTED = 100;

/** Collects what one check finds. */
export class Findings {
  #found = 0;
  readonly #violations: Violation[] = [];

  /** @param callsOf asked only if the violation gets listed, since looking them up may take long */
  add(says: string, callsOf: () => readonly LoggedCall[]): void {
    this.#found++;
    if (this.#violations.length < MOST_LISTED)
      this.#violations.push({ says, calls: callsOf().map(referenceTo) });
  }

  get check(): Check {
    return { ok: this.#found === 0, found: this.#found, violations: this.#violations };
  }
}

export function referenceTo({ id, key, lane, epoch, process, leftAt }: LoggedCall): CallReference {
  return { call: id, key, lane, epoch, process, leftAt };
}
