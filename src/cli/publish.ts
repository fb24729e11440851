import { userInfo } from 'node:os';
import { Command } from 'commander';
import { z } from 'zod';
import { type Published, publish } from '../client.ts';
import { contentHash } from '../domain/batch.ts';
import { parseDuration } from '../domain/duration.ts';
import { CliError, EXIT, type ExitCode } from './exit.ts';
import { print, table } from './print.ts';
import { readItems } from './read-items.ts';
import { withClient } from './with-client.ts';

const flagsSchema = z.object({
  lane: z.string(),
  batch: z.string().optional(),
  publisher: z.string(),
  wait: z.string(),
  json: z.boolean().optional(),
});

/** With a worker there, an answer rarely takes longer; without one, a person should know what is going on. */
const SAY_WAITING_AFTER_MS = 3_000;

/** `onelane publish FILE`: one batch from a file. */
export function publishCommand(): Command {
  return new Command('publish')
    .description('publish a file of items as one batch, and print the admission of each')
    .argument('<file>', 'items as .ndjson (one a line) or .json (an array)')
    .requiredOption('--lane <lane>', 'the lane that they go through')
    .option(
      '--batch <id>',
      "the batch's ID; by default made of its content, so that the same file is the same batch",
    )
    .option('--publisher <name>', 'who publishes', userInfo().username)
    .option('--wait <duration>', 'how long to wait for admissions', '60s')
    .option('--json', 'print one JSON object')
    .action(async (file: string, options: unknown) => run(file, flagsSchema.parse(options)));
}

async function run(
  file: string,
  { lane, batch, publisher, wait, json }: z.infer<typeof flagsSchema>,
): Promise<void> {
  const waitMs = durationOf(wait);
  const items = await readItems(file);
  const batchId = batch ?? defaultBatchId(lane, items);
  const waiting = setTimeout(
    () => console.error(`waiting up to ${wait} for a worker to answer`),
    SAY_WAITING_AFTER_MS,
  );
  const published = await withClient((client) =>
    publish(client, { batchId, lane, publisher, items }, { waitMs }),
  ).finally(() => clearTimeout(waiting));
  print(json, published, () => describe(published));
  process.exitCode = exitCodeOf(published);
}

/** 80 bits of the content's hash: no two files of one team will ever share them by chance. */
function defaultBatchId(lane: string, items: unknown[]): string {
  return `content:${contentHash({ lane, items }).slice(0, 20)}`;
}

function durationOf(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new CliError(EXIT.usage, `--wait: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function describe({ batchId, answered, admissions }: Published): string {
  const lines = table(
    ['#', 'key', 'admission', ''],
    admissions.map((admission) => [
      String(admission.position),
      admission.key ?? '-',
      admission.admission,
      'reason' in admission ? admission.reason : 'state' in admission ? admission.state : '',
    ]),
  );
  const verdict = answered
    ? `batch ${batchId}: every item is answered`
    : `batch ${batchId} is durable, but no worker has answered yet; publish it again, or ask: onelane batch ${batchId}`;
  return `${lines}\n${verdict}`;
}

function exitCodeOf({ answered, admissions }: Published): ExitCode {
  if (!answered) return EXIT.pending;
  const refused = admissions.some(({ admission }) => admission === 'rejected' || admission === 'conflict');
  return refused ? EXIT.itemsRefused : EXIT.ok;
}
