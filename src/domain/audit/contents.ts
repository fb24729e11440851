import type { LoggedCall } from './calls.ts';

/** All that a file says. */
export interface SendLogContents {
  /** the nonce of every process that wrote to it */
  readonly nonces: readonly string[];
  readonly openings: readonly Opening[];
  readonly handovers: readonly LaneEpoch[];
  readonly calls: readonly LoggedCall[];
  /** the line that a killed process could not finish, if it is the file's last */
  readonly tornLine: number | null;
}

export interface LaneEpoch {
  readonly lane: string;
  readonly epoch: number;
}

export interface Opening extends LaneEpoch {
  readonly nonce: string;
  readonly process: string;
}

/** The file is no send log: not one line of it is. */
export class NotASendLogError extends Error {
  override readonly name = 'NotASendLogError';
}

/** The file was a send log before somebody edited, removed, inserted or moved a line of it. */
export class DoctoredLogError extends Error {
  override readonly name = 'DoctoredLogError';
  /** counted from 1 */
  readonly line: number;

  constructor(line: number, problem: string) {
    super(problem);
    this.line = line;
  }
}
