import { userInfo } from 'node:os';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { type DeadLetter, deadLetters, itemRecord, operateItems } from '../client.ts';
import { describeDeadLetters } from './dead-text.ts';
import { durationArgument } from './duration-argument.ts';
import { CliError, EXIT } from './exit.ts';
import { describeItem } from './item-text.ts';
import { operateMany } from './operate-many.ts';
import { print } from './print.ts';
import { withClient } from './with-client.ts';

const filterSchema = z.object({
  lane: z.string().optional(),
  batch: z.string().optional(),
  because: z.string().optional(),
  olderThan: z.number().optional(),
  json: z.boolean().optional(),
});
type FilterFlags = z.infer<typeof filterSchema>;
const orderSchema = filterSchema.extend({
  by: z.string(),
  reason: z.string(),
  all: z.boolean().optional(),
  acceptRisk: z.boolean().optional(),
});
type OrderFlags = z.infer<typeof orderSchema>;

/** `onelane dead …`: what waits for a person, as work to be done. */
export function deadCommand(): Command {
  const dead = new Command('dead').description(
    'show what is parked, dead or uncertain, and redrive or discard it, one by one or many at once',
  );
  dead.addCommand(listCommand());
  dead.addCommand(showCommand());
  dead.addCommand(
    orderCommand('redrive', 'try parked items again, each under its key').option(
      '--accept-risk',
      'also those that may have been done already, where nobody can be asked: they may then be done twice',
    ),
  );
  dead.addCommand(orderCommand('discard', 'give parked items up, for good'));
  // Commander hands this on to subcommands that it makes itself, not to those that it is given.
  for (const command of dead.commands) command.exitOverride();
  return dead;
}

function filtered(command: Command): Command {
  return command
    .option('--lane <name>', 'of this lane with all of its partitions, or of one partition')
    .option('--batch <id>', 'of this batch')
    .option('--because <text>', 'whose reason has this text in it, in any case')
    .option('--older-than <age>', 'parked for at least so long, e.g. 2h', durationArgument)
    .option('--json', 'print one JSON value');
}

function listCommand(): Command {
  return filtered(new Command('list'))
    .description('list what is parked, with its reason and whom to ask; works with no worker running')
    .action(async (options: unknown) => {
      const flags = filterSchema.parse(options);
      const found = await withClient((client) => collect(deadLetters(client, filterOf(flags))));
      print(flags.json, found, () => describeDeadLetters(found));
    });
}

function showCommand(): Command {
  return new Command('show')
    .description('show all that is known of parked items, with evidence; works with no worker running')
    .argument('<keys...>', 'their keys')
    .option('--json', 'print one JSON array')
    .action(async (keys: string[], options: unknown) => {
      const { json } = filterSchema.parse(options);
      const records = await withClient(async (client) => {
        const found = [];
        for (const key of keys) found.push(await itemRecord(client, key));
        return found;
      });
      print(json, records, () => records.map(describeItem).join('\n\n'));
    });
}

function orderCommand(act: 'redrive' | 'discard', description: string): Command {
  return filtered(new Command(act))
    .description(`${description}; those that are named, or all that fit`)
    .argument('[keys...]', 'their keys; without any, all that fit the options')
    .option('--all', 'without keys and options: everything that is parked')
    .addOption(new Option('--by <name>', 'who does it; kept with each item').default(userInfo().username))
    .requiredOption('--reason <text>', 'why it is done; kept with each item')
    .action(async (keys: string[], options: unknown) => run(act, keys, orderSchema.parse(options)));
}

async function run(act: 'redrive' | 'discard', keys: string[], flags: OrderFlags): Promise<void> {
  checkChoice(keys, flags);
  const { by, reason, acceptRisk = false, json } = flags;
  await withClient(async (client) => {
    const chosen = keys.length > 0 ? keys : keysOf(deadLetters(client, filterOf(flags)));
    const operated =
      act === 'redrive'
        ? operateItems.redrive(client, chosen, { by, reason, acceptRisk })
        : operateItems.discard(client, chosen, { by, reason });
    await operateMany(operated, act === 'redrive' ? 'redriven' : 'discarded', json);
  });
}

/** Everything is a lot: it must have been meant. */
function checkChoice(keys: readonly string[], { lane, batch, because, olderThan, all }: OrderFlags): void {
  const filters = [lane, batch, because, olderThan].filter((given) => given !== undefined).length;
  if (keys.length > 0 && (filters > 0 || all))
    throw new CliError(EXIT.usage, 'expected keys, or options that choose items, not both');
  if (keys.length === 0 && filters === 0 && !all)
    throw new CliError(
      EXIT.usage,
      'expected keys, or --lane, --batch, --because or --older-than; or --all for everything that is parked',
    );
}

function filterOf({ lane, batch, because, olderThan }: FilterFlags) {
  return { lane, batchId: batch, because, olderThanMs: olderThan };
}

async function* keysOf(letters: AsyncIterable<DeadLetter>): AsyncGenerator<string> {
  for await (const { key } of letters) yield key;
}

async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of all) found.push(one);
  return found;
}
