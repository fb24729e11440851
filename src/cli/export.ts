import { readFile, rename, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { exportRecords } from '../client.ts';
import { CliError, EXIT } from './exit.ts';
import { writeLine } from './write-line.ts';
import { withClient } from './with-client.ts';

const flagsSchema = z.object({
  since: z.string().optional(),
  lane: z.string().optional(),
  markFile: z.string().optional(),
  open: z.boolean().optional(),
});

/** `onelane export`: what became of every item, as NDJSON, from where the export before ended. */
export function exportCommand(): Command {
  return new Command('export')
    .description('print a record of every item that ended or parked since a mark, one JSON object a line')
    .option('--since <mark>', 'the mark that the export before ended with; without it, all that is kept')
    .option('--lane <name>', 'only of this lane, with its partitions; or of one, e.g. releases/acme')
    .option(
      '--mark-file <file>',
      'go on from the mark in this file, if it is there, and keep the new one in it',
    )
    .option('--open', 'print those that have neither ended nor parked, too, as they are now')
    .addHelpText(
      'after',
      `
The last line is the mark to go on from: {"mark": "..."}. Without it, the export was interrupted: run it again from
the old mark.`,
    )
    .action(async (options: unknown) => run(flagsSchema.parse(options)));
}

async function run({ since, lane, markFile, open = false }: z.infer<typeof flagsSchema>): Promise<void> {
  const from = since ?? (markFile === undefined ? undefined : await readMarkFile(markFile));
  const mark = await withClient(async (client) => {
    let last: string | undefined;
    for await (const line of exportRecords(client, { since: from ?? null, lane: lane ?? null, open, warn })) {
      await writeLine(JSON.stringify(line));
      if ('mark' in line) last = line.mark;
    }
    return last;
  });
  if (markFile !== undefined && mark !== undefined) await keepMark(markFile, mark);
}

/** Undefined when there is none yet. An empty one is no mark: it may be what is left of a full disk. */
async function readMarkFile(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new CliError(EXIT.usage, `--mark-file: ${messageOf(error)}`);
  }
}

/** Whole or not at all, whenever the process is killed. */
async function keepMark(file: string, mark: string): Promise<void> {
  const beside = `${file}.${process.pid}.new`;
  try {
    await writeFile(beside, `${mark}\n`, { flush: true });
    await rename(beside, file);
  } catch (error) {
    throw new CliError(
      EXIT.failed,
      `--mark-file: the export is complete, but its mark could not be kept: ${messageOf(error)}`,
    );
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function warn(sentence: string): void {
  console.error(`onelane: warning: ${sentence}`);
}
