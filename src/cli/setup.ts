import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { formatDuration, parseDuration } from '../domain/duration.ts';
import { type SetupReport, setUp } from '../setup.ts';
import { print } from './print.ts';
import { withClient } from './with-client.ts';

const flagsSchema = z.object({
  create: z.boolean().optional(),
  retention: z.number().optional(),
  json: z.boolean().optional(),
});

/** Below it, the default `dedupWindow` of a lane does not hold. */
const DEDUP_WINDOW_MS = 30 * 24 * 3_600_000;

/** `onelane setup`: makes a namespace ready that `onelane dev` does not own. */
export function setupCommand(): Command {
  return new Command('setup')
    .description(
      'make a namespace ready for onelane: its search attributes and its retention; again changes nothing',
    )
    .option('--create', 'make the namespace where there is none')
    .option(
      '--retention <duration>',
      'set how long closed items are kept, e.g. 30d; a key is taken for so long',
      retentionArgument,
    )
    .option('--json', 'print one JSON object')
    .action(async (options: unknown) => {
      const { create = false, retention = null, json } = flagsSchema.parse(options);
      const report = await withClient((client) => setUp(client, { create, retentionMs: retention }));
      print(json, report, () => describe(report));
    });
}

function retentionArgument(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function describe({ namespace, created, registered, retentionMs, retentionWasMs }: SetupReport): string {
  const kept = formatDuration(retentionMs);
  return [
    `namespace ${namespace} ${created ? 'was created' : 'is there'}`,
    registered.length === 0
      ? 'its search attributes were registered already'
      : `search attributes registered: ${registered.join(', ')}`,
    retentionWasMs === null
      ? `closed items are kept for ${kept}`
      : `closed items are kept for ${kept}; it was ${formatDuration(retentionWasMs)}`,
    ...(retentionMs < DEDUP_WINDOW_MS
      ? [
          `warning: lanes count on ${formatDuration(DEDUP_WINDOW_MS)} unless their dedupWindow says otherwise: a key ` +
            'published again later is a new operation. Set it with: onelane setup --retention 30d',
        ]
      : []),
  ].join('\n');
}
