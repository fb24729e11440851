/** What the `onelane` command's exit code tells a script. Documented in the README. */
export const EXIT = {
  ok: 0,
  /** something that nobody foresaw, or a demo or check whose promise did not hold */
  failed: 1,
  /** wrong arguments, or a file that cannot be used: nothing was done */
  usage: 2,
  /** the batch stands, but some of its items were rejected or in conflict, or did not do what an operator asked, or all of it was refused */
  itemsRefused: 3,
  /** the batch is durable, but nobody has answered yet */
  pending: 4,
  notFound: 5,
  /** Temporal could not be reached */
  unreachable: 6,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the command with a message for its user instead of a stack trace. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
