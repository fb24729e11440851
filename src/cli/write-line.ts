import { CliError, EXIT } from './exit.ts';

let listening = false;

/**
 * Prints a line, and resolves when it has gone, so that nobody makes lines faster than they are read.
 *
 * @throws CliError when whoever read them has gone away
 */
export async function writeLine(line: string): Promise<void> {
  await writeText(`${line}\n`).catch((error: Error) => {
    throw new CliError(EXIT.failed, `the output could not be written to its end: ${error.message}`);
  });
}

/** The same for any text; rejects with the stream's own error. */
export async function writeText(text: string): Promise<void> {
  // The same failure is emitted, too, and would end the process without a word.
  if (!listening) process.stdout.on('error', () => undefined);
  listening = true;
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
