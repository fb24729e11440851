import { userInfo } from 'node:os';
import { Command } from 'commander';
import { z } from 'zod';
import { type Whole, publishPages, survey } from '../client.ts';
import { parseDuration } from '../domain/duration.ts';
import { CliError, EXIT } from './exit.ts';
import { startProgress } from './progress.ts';
import { JsonAnswer, TextAnswer } from './publish-answer.ts';
import { STDIN, readItems } from './read-items.ts';
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

/** `onelane publish FILE`: one batch from a file of any length. */
export function publishCommand(): Command {
  return new Command('publish')
    .description('publish a file of items as one batch, and print the admission of each')
    .argument('<file>', 'items as .ndjson (one a line) or .json (an array); - reads NDJSON from stdin')
    .requiredOption('--lane <lane>', 'the lane that they go through')
    .option(
      '--batch <id>',
      "the batch's ID; by default made of its content, so that the same file is the same batch",
    )
    .option('--publisher <name>', 'who publishes', userInfo().username)
    .option('--wait <duration>', 'how long to wait for admissions, per 500 items', '60s')
    .option('--json', 'print one JSON object')
    .action(async (file: string, options: unknown) => run(file, flagsSchema.parse(options)));
}

async function run(
  file: string,
  { lane, batch, publisher, wait, json }: z.infer<typeof flagsSchema>,
): Promise<void> {
  const waitMs = durationOf(wait);
  const whole = file === STDIN ? undefined : await survey(lane, readItems(file));
  const batchId = batch ?? defaultBatchId(whole);
  const answer = json ? new JsonAnswer(batchId) : new TextAnswer(batchId);
  const progress = startProgress(json ? 'none' : { total: whole?.total });
  const waiting = setTimeout(
    () => progress.isShown || console.error(`waiting up to ${wait} for a worker to answer`),
    SAY_WAITING_AFTER_MS,
  );
  try {
    await withClient(async (client) => {
      const items = readItems(file);
      const told = whole === undefined ? {} : { whole };
      for await (const page of publishPages(
        client,
        { batchId, lane, publisher, items, ...told },
        { waitMs },
      )) {
        clearTimeout(waiting);
        progress.add(page.admissions.length);
        await answer.add(page);
      }
    });
  } catch (error) {
    progress.end();
    await answer.breakOff(error);
    throw error;
  } finally {
    clearTimeout(waiting);
  }
  progress.end();
  process.exitCode = await answer.end();
}

/** 80 bits of the content's hash: no two files of one team will ever share them by chance. */
function defaultBatchId(whole: Whole | undefined): string {
  if (whole === undefined)
    throw new CliError(
      EXIT.usage,
      '--batch: expected with items from stdin, to be known by when it is run again',
    );
  return `content:${whole.content.slice(0, 20)}`;
}

function durationOf(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new CliError(EXIT.usage, `--wait: ${error instanceof Error ? error.message : String(error)}`);
  }
}
