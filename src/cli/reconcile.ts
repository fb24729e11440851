import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { type LaneStatus, laneStatus, reconcileItems } from '../client.ts';
import type { Sample } from '../client/sample.ts';
import { CliError, EXIT } from './exit.ts';
import { countResults, describeCounts, describeResult } from './reconcile-text.ts';
import { nextSignal } from './signals.ts';
import { withClient } from './with-client.ts';

const DEFAULT_SAMPLE = 100;

const flagsSchema = z.object({
  lane: z.string().optional(),
  by: z.string(),
  succeeded: z.boolean().optional(),
  sample: z.int().optional(),
  seed: z.string().optional(),
  json: z.boolean().optional(),
});
type Flags = z.infer<typeof flagsSchema>;

/** `onelane reconcile`: what the upstream says of all that is not sure. */
export function reconcileCommand(): Command {
  return new Command('reconcile')
    .description(
      'ask upstreams, by their lookups, about all that is uncertain or may have been sent; settle what that proves',
    )
    .option('--lane <name>', 'only of this lane, with its partitions; or of one, e.g. releases/acme')
    .option('--succeeded', 'compare a sample of those that succeeded, too')
    .option('--sample <number>', `how many of them; by default ${DEFAULT_SAMPLE}`, positiveNumber)
    .option('--seed <text>', 'decides which of them are drawn; by default by chance')
    .addOption(
      new Option('--by <name>', 'in whose name it settles; kept with the items').default(userInfo().username),
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Lookups leave at the lane's pace and through its slot. It can be interrupted and run again at any time.
Ends with 1 when something contradicts: it succeeded here, and is absent or another there.`,
    )
    .action(async (options: unknown) => run(flagsSchema.parse(options)));
}

async function run(flags: Flags): Promise<void> {
  const { lane = null, by, json } = flags;
  const sample = sampleOf(flags);
  const interrupted = new AbortController();
  void nextSignal().then((signal) =>
    interrupted.abort(
      new CliError(
        EXIT.failed,
        `ended by ${signal}. What was settled stays settled; run it again for the rest`,
      ),
    ),
  );
  const results = await withClient((client) =>
    reconcileItems(client, {
      by,
      lane,
      sample,
      signal: interrupted.signal,
      tell: (result) => {
        const line = json ? undefined : describeResult(result);
        if (line !== undefined) console.log(line);
      },
      asking: async (name, lookups) => {
        const because = whyItWaits(await laneStatus(client, name));
        if (because !== null) console.error(`lane ${name} ${because}: ${lookups} lookups wait`);
      },
    }),
  );
  const counts = countResults(results);
  if (json) console.log(JSON.stringify({ by, lane, seed: sample?.seed ?? null, counts, items: results }));
  else console.log(describeCounts(counts, sample));
  process.exitCode = counts.contradicts === 0 ? EXIT.ok : EXIT.failed;
}

function whyItWaits({ state, record }: LaneStatus): string | null {
  switch (state) {
    case 'open':
      return null;
    case 'paused':
      return `is paused by ${record?.paused?.by} (${record?.paused?.reason})`;
    case 'closed':
      return `is closed (${record?.closedBecause})`;
    case 'unheld':
      return 'is held by nobody';
    case 'unknown':
      return 'has no worker that answers for it';
  }
}

function sampleOf({ succeeded, sample, seed }: Flags): Sample | null {
  if (!succeeded && (sample !== undefined || seed !== undefined))
    throw new CliError(
      EXIT.usage,
      `--${sample === undefined ? 'seed' : 'sample'}: expected with --succeeded only`,
    );
  return succeeded ? { size: sample ?? DEFAULT_SAMPLE, seed: seed ?? randomUUID().slice(0, 8) } : null;
}

function positiveNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError(`Expected a whole number of at least 1, got "${text}".`);
  return Number(text);
}
