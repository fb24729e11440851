import { userInfo } from 'node:os';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { operateLane } from '../client.ts';
import type { LaneRecord } from '../domain/lane-record.ts';
import { CliError, EXIT } from './exit.ts';
import { print } from './print.ts';
import { wholeNumber } from './whole-number.ts';
import { withClient } from './with-client.ts';

const ACTS = ['pause', 'resume', 'override', 'clear', 'drain'] as const;
const actSchema = z.enum(ACTS);
const flagsSchema = z.object({
  by: z.string(),
  reason: z.string(),
  requests: z.int().optional(),
  maxInFlight: z.int().optional(),
  json: z.boolean().optional(),
});
type Flags = z.infer<typeof flagsSchema>;

/** `onelane lane NAME pause|resume|override|clear|drain`: what an operator does to a lane. */
export function laneCommand(): Command {
  return new Command('lane')
    .description('pause, resume, slow down or drain a lane; holds for the whole fleet when it returns')
    .argument('<name>', 'the lane, e.g. releases, or releases/acme for a partition')
    .argument(`<${ACTS.join('|')}>`, 'what to do')
    .addOption(new Option('--by <name>', 'who does it; kept with the lane').default(userInfo().username))
    .requiredOption('--reason <text>', 'why; kept with the lane')
    .option('--requests <number>', 'override: requests per window', wholeNumber)
    .option('--max-in-flight <number>', 'override: calls open at once', wholeNumber)
    .option('--json', "print the lane's record as one JSON object")
    .addHelpText(
      'after',
      `
pause     no call leaves any more; resume takes it back, also where the lane paused itself
override  sets --requests, --max-in-flight or both, in place of what lanes.yaml says; clear takes it back
drain     nothing new gets in, what is there goes on; it can't be taken back`,
    )
    .action(async (name: string, act: string, options: unknown) =>
      run(name, act, flagsSchema.parse(options)),
    );
}

async function run(name: string, actText: string, flags: Flags): Promise<void> {
  const act = actSchema.safeParse(actText);
  if (!act.success) throw new CliError(EXIT.usage, `expected one of ${ACTS.join(', ')}, got "${actText}"`);
  const record = await withClient((client) => {
    const { by, reason, requests = null, maxInFlight = null } = flags;
    switch (act.data) {
      case 'pause':
        return operateLane.pause(client, name, { by, reason });
      case 'resume':
        return operateLane.resume(client, name, { by, reason });
      case 'override':
        return operateLane.override(client, name, { by, reason, requests, maxInFlight });
      case 'clear':
        return operateLane.clearOverride(client, name, { by, reason });
      case 'drain':
        return operateLane.drain(client, name, { by, reason });
    }
  });
  print(flags.json, record, () => describeRecord(name, record));
}

function describeRecord(name: string, { paused, draining, override, holder }: LaneRecord): string {
  return [
    `lane ${name}, held by ${holder === null ? 'nobody' : holder.process}`,
    paused === null ? 'not paused' : `paused by ${paused.by}: ${paused.reason}`,
    draining === null ? 'takes items in' : `draining, by ${draining.by}: ${draining.reason}`,
    override === null
      ? 'limits as configured'
      : `overridden by ${override.by}: ${override.reason} (requests ${override.requests ?? 'as configured'}, ` +
        `maxInFlight ${override.maxInFlight ?? 'as configured'})`,
  ].join('\n');
}
