import { userInfo } from 'node:os';
import { Command, Option } from 'commander';
import { z } from 'zod';
import {
  OVERLAPS,
  type ScheduleDefinition,
  type ScheduleStatus,
  createSchedule,
  deleteSchedule,
  listSchedules,
  pauseSchedule,
  resumeSchedule,
} from '../client.ts';
import { CliError, EXIT } from './exit.ts';
import { print, table } from './print.ts';
import { addWindowCommands } from './schedule-windows.ts';
import { withClient } from './with-client.ts';

const jsonSchema = z.object({ json: z.boolean().optional() });
const namedSchema = jsonSchema.extend({ by: z.string(), reason: z.string() });
const createSchema = jsonSchema.extend({
  lane: z.string(),
  source: z.string(),
  cron: z.string().optional(),
  timeZone: z.string().optional(),
  every: z.string().optional(),
  offset: z.string().optional(),
  overlap: z.enum(OVERLAPS),
  catchUp: z.string(),
  paused: z.boolean().optional(),
});
type CreateFlags = z.infer<typeof createSchema>;

/** `onelane schedule …`: batches that come by the clock. */
export function scheduleCommand(): Command {
  const schedule = new Command('schedule').description(
    'publish a batch for each window of time, by the clock',
  );
  schedule.addCommand(createCommand());
  schedule.addCommand(listCommand());
  schedule.addCommand(namedCommand('pause', 'leave its firings out from now on', pauseSchedule));
  schedule.addCommand(namedCommand('resume', 'let it fire again from now on', resumeSchedule));
  addWindowCommands(schedule);
  schedule.addCommand(deleteCommand());
  // Commander hands this on to subcommands that it makes itself, not to those that it is given.
  for (const command of schedule.commands) command.exitOverride();
  return schedule;
}

function createCommand(): Command {
  return new Command('create')
    .description('create a schedule; creating the same again changes nothing')
    .argument('<name>', 'its name; each window becomes batch <name>:<start of the window>')
    .requiredOption('--lane <lane>', 'the lane that the items go through')
    .requiredOption('--source <source>', "where the items come from, by its name in the workers' lanes.yaml")
    .option('--cron <expression>', "when it fires, e.g. '0 2 * * *'; needs --time-zone")
    .option('--time-zone <name>', 'of the cron expression, e.g. Europe/Berlin or UTC')
    .option('--every <duration>', 'or: how often it fires, e.g. 1h, counted from 1970 in UTC')
    .option('--offset <duration>', 'with --every: by how much later')
    .addOption(
      new Option('--overlap <policy>', 'what to do when it fires while its last firing still publishes')
        .choices(OVERLAPS)
        .makeOptionMandatory(),
    )
    .option('--catch-up <duration>', 'how late a firing may be after an outage; at least 10s', '10m')
    .option('--paused', 'create it paused')
    .option('--json', 'print one JSON object')
    .action(async (name: string, options: unknown) => {
      const flags = createSchema.parse(options);
      const created = await withClient((client) =>
        createSchedule(client, name, definitionOf(flags), { paused: flags.paused ?? false }),
      );
      print(flags.json, created, () => describe([created]));
    });
}

function definitionOf({ lane, source, overlap, catchUp, ...flags }: CreateFlags): ScheduleDefinition {
  return { lane, source, when: whenOf(flags), overlap, catchUp };
}

function whenOf({ cron, timeZone, every, offset }: Partial<CreateFlags>): ScheduleDefinition['when'] {
  if (every !== undefined && cron === undefined && timeZone === undefined)
    return { kind: 'every', every, ...(offset === undefined ? {} : { offset }) };
  if (cron !== undefined && timeZone !== undefined && every === undefined && offset === undefined)
    return { kind: 'cron', cron, timeZone };
  throw new CliError(
    EXIT.usage,
    'expected either --cron with --time-zone, or --every, perhaps with --offset',
  );
}

function listCommand(): Command {
  return new Command('list')
    .description('show every schedule: when it fires, what it publishes, whether it is paused and why')
    .option('--json', 'print one JSON array')
    .action(async (options: unknown) => {
      const { json } = jsonSchema.parse(options);
      const schedules = await withClient(listSchedules);
      print(json, schedules, () => (schedules.length === 0 ? 'there is no schedule' : describe(schedules)));
    });
}

function namedCommand(act: string, description: string, run: typeof pauseSchedule): Command {
  return new Command(act)
    .description(description)
    .argument('<name>', 'the schedule')
    .addOption(new Option('--by <name>', 'who does it; kept as its note').default(userInfo().username))
    .requiredOption('--reason <text>', 'why; kept as its note')
    .option('--json', 'print one JSON object')
    .action(async (name: string, options: unknown) => {
      const { by, reason, json } = namedSchema.parse(options);
      const status = await withClient((client) => run(client, name, { by, reason }));
      print(json, status, () => describe([status]));
    });
}

function deleteCommand(): Command {
  return new Command('delete')
    .description('delete a schedule; what it has published stays')
    .argument('<name>', 'the schedule')
    .option('--json', 'print one JSON object')
    .action(async (name: string, options: unknown) => {
      const { json } = jsonSchema.parse(options);
      await withClient((client) => deleteSchedule(client, name));
      print(json, { schedule: name, deleted: true }, () => `schedule ${name} is deleted`);
    });
}

function describe(schedules: readonly ScheduleStatus[]): string {
  const head = ['schedule', 'lane', 'source', 'fires', 'overlap', 'last', 'next', ''];
  return table(
    head,
    schedules.map((one) => [
      one.schedule,
      one.lane,
      one.source,
      describeWhen(one.when),
      one.overlap,
      one.lastFiredAt ?? '-',
      one.paused ? 'paused' : (one.nextAt[0] ?? '-'),
      one.note ?? '',
    ]),
  );
}

function describeWhen(when: ScheduleStatus['when']): string {
  switch (when.kind) {
    case 'cron':
      return `${when.cron} ${when.timeZone}`;
    case 'every':
      return `every ${when.every}${when.offset === undefined ? '' : ` + ${when.offset}`}`;
  }
}
