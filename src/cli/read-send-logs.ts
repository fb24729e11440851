import { createReadStream } from 'node:fs';
import { DoctoredLogError, NotASendLogError, type SendLogContents } from '../domain/audit/contents.ts';
import { SendLogReader } from '../domain/audit/log-reader.ts';
import { CliError, EXIT } from './exit.ts';

export interface SendLogFile {
  readonly file: string;
  readonly contents: SendLogContents;
}

/** Where a file was changed after it was written. */
export interface DoctoredFile {
  readonly file: string;
  /** counted from 1 */
  readonly line: number;
  readonly problem: string;
}

/**
 * Reads send logs, each line by line.
 *
 * @throws CliError when a file can't be read, is no send log, or is given twice, under whichever name
 */
export async function readSendLogs(
  files: readonly string[],
): Promise<{ logs: SendLogFile[]; doctored: DoctoredFile[] }> {
  const logs: SendLogFile[] = [];
  const doctored: DoctoredFile[] = [];
  for (const file of files) {
    try {
      logs.push({ file, contents: await readSendLog(file) });
    } catch (error) {
      if (error instanceof DoctoredLogError)
        doctored.push({ file, line: error.line, problem: error.message });
      else throw unusable(file, error);
    }
  }
  refuseCopies(logs);
  return { logs, doctored };
}

async function readSendLog(file: string): Promise<SendLogContents> {
  const reader = new SendLogReader();
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) reader.take(line);
  }
  return reader.end(rest);
}

/** Every call in it would count twice, as its own double. */
function refuseCopies(logs: readonly SendLogFile[]): void {
  const files = new Map<string, string>();
  for (const { file, contents } of logs)
    for (const nonce of contents.nonces) {
      const other = files.get(nonce);
      if (other !== undefined)
        throw new CliError(EXIT.usage, `${file}: is a copy of ${other}; give one of them`);
      files.set(nonce, file);
    }
}

function unusable(file: string, error: unknown): CliError {
  const message = error instanceof Error ? error.message : String(error);
  return new CliError(
    EXIT.usage,
    error instanceof NotASendLogError ? `${file}: ${message}` : `${file}: cannot be read: ${message}`,
  );
}
