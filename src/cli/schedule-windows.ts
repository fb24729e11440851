import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { type BackfilledWindow, type MissedWindows, backfill, missedWindows } from '../client.ts';
import { durationArgument } from './duration-argument.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { print, table } from './print.ts';
import { withClient } from './with-client.ts';

const flagsSchema = z.object({ since: z.date().optional(), json: z.boolean().optional() });
const backfillSchema = flagsSchema.extend({ wait: z.number() });

/** Adds `missed` and `backfill`. */
export function addWindowCommands(schedule: Command): void {
  schedule
    .command('missed')
    .description('list the windows that were to be published by now, and were not')
    .argument('<name>', 'the schedule')
    .option('--since <time>', 'from when on; since it was created by default', instantArgument)
    .option('--json', 'print one JSON object')
    .action(async (name: string, options: unknown) => {
      const { json, ...flags } = flagsSchema.parse(options);
      const missed = await withClient((client) => missedWindows(client, name, sinceOf(flags)));
      print(json, missed, () => describeMissed(missed));
    });
  schedule
    .command('backfill')
    .description('publish the missed windows, each once, however often it is asked for')
    .argument('<name>', 'the schedule')
    .option('--since <time>', 'from when on; since it was created by default', instantArgument)
    .addOption(
      new Option('--wait <duration>', 'how long to wait until they are published')
        .argParser(durationArgument)
        .default(durationArgument('2h'), '2h'),
    )
    .option('--json', 'print one JSON array')
    .action(async (name: string, options: unknown) => {
      const { json, wait, ...flags } = backfillSchema.parse(options);
      const windows = await withClient((client) =>
        backfill(client, name, { ...sinceOf(flags), waitMs: wait }),
      );
      print(json, windows, () => describeBackfilled(name, windows));
      process.exitCode = exitCodeOf(windows);
    });
}

function sinceOf({ since }: { since?: Date | undefined }): { since?: Date } {
  return since === undefined ? {} : { since };
}

function instantArgument(text: string): Date {
  const instant = z.iso.datetime({ offset: true }).safeParse(text);
  if (!instant.success)
    throw new InvalidArgumentError(
      `Expected an instant such as 2026-08-12T17:00:00Z, with Z or an offset, got "${text}".`,
    );
  return new Date(instant.data);
}

function describeMissed({ schedule, since, sinceRetention, windows }: MissedWindows): string {
  const rows = windows.map(({ start, end, state, reason }) => [start, end, state, reason ?? '']);
  return [
    rows.length === 0
      ? `schedule ${schedule} has missed no window since ${since}`
      : table(['from', 'to', 'state', ''], rows),
    ...(sinceRetention
      ? [`Temporal keeps closed workflows no longer, so windows before ${since} can't be told.`]
      : []),
  ].join('\n');
}

function describeBackfilled(schedule: string, windows: readonly BackfilledWindow[]): string {
  if (windows.length === 0) return `schedule ${schedule} has missed no window`;
  return table(
    ['from', 'to', 'state', ''],
    windows.map((window) => [window.start, window.end, window.state, detailOf(window)]),
  );
}

function detailOf(window: BackfilledWindow): string {
  switch (window.state) {
    case 'published':
      return window.batchId === null
        ? 'there were no items'
        : `${window.items} items as batch ${window.batchId}: ${window.accepted} accepted, ` +
            `${window.duplicate} duplicate, ${window.conflict} conflict, ${window.rejected} rejected`;
    case 'failed':
      return window.reason;
    case 'pending':
      return 'not published yet; ask again';
  }
}

function exitCodeOf(windows: readonly BackfilledWindow[]): ExitCode {
  if (windows.some(({ state }) => state === 'failed')) return EXIT.failed;
  if (windows.some(({ state }) => state === 'pending')) return EXIT.pending;
  const refused = windows.some(
    (window) => window.state === 'published' && window.conflict + window.rejected > 0,
  );
  return refused ? EXIT.itemsRefused : EXIT.ok;
}
