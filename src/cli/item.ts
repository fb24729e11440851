import { userInfo } from 'node:os';
import type { Client } from '@temporalio/client';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { itemRecord, operateItem } from '../client.ts';
import type { ItemAnswer } from '../domain/orders.ts';
import { describeReceipt } from '../domain/receipt-text.ts';
import { CliError, EXIT } from './exit.ts';
import { describeItem } from './item-text.ts';
import { print } from './print.ts';
import { withClient } from './with-client.ts';

const ACTS = ['redrive', 'discard', 'resolve'] as const;
const actSchema = z.enum(ACTS);
const flagsSchema = z.object({
  by: z.string(),
  reason: z.string().optional(),
  upstreamId: z.string().optional(),
  acceptRisk: z.boolean().optional(),
  json: z.boolean().optional(),
});
type Flags = z.infer<typeof flagsSchema>;

/** `onelane item KEY`: all that is known of one item; and what an operator does to it. */
export function itemCommand(): Command {
  return new Command('item')
    .description('show what became of an item, with evidence, with no worker running; or decide about it')
    .argument('<key>', "the item's key")
    .argument(`[${ACTS.join('|')}]`, 'what to do to it: try it again, give it up, or close it as found done')
    .addOption(new Option('--by <name>', 'who does it; kept with the item').default(userInfo().username))
    .option('--reason <text>', 'why; kept with the item')
    .option('--upstream-id <id>', "resolve: the upstream's own ID of what it did")
    .option('--accept-risk', 'redrive: though it may have been done, and nobody can be asked')
    .option('--json', 'print one JSON object')
    .action(async (key: string, act: string | undefined, options: unknown) => {
      const flags = flagsSchema.parse(options);
      if (act === undefined) await show(key, flags);
      else await order(key, act, flags);
    });
}

async function show(key: string, { json }: Flags): Promise<void> {
  const record = await withClient((client) => itemRecord(client, key));
  print(json, record, () => describeItem(record));
}

async function order(key: string, actText: string, flags: Flags): Promise<void> {
  const act = actSchema.safeParse(actText);
  if (!act.success) throw new CliError(EXIT.usage, `expected one of ${ACTS.join(', ')}, got "${actText}"`);
  const { reason, json } = flags;
  if (reason === undefined) throw new CliError(EXIT.usage, '--reason: expected why, got nothing');
  const answer = await withClient((client) => carryOut(client, key, act.data, { ...flags, reason }));
  print(json, answer, () => describeAnswer(answer));
}

function carryOut(
  client: Client,
  key: string,
  act: z.infer<typeof actSchema>,
  { by, reason, upstreamId, acceptRisk = false }: Flags & { reason: string },
): Promise<ItemAnswer> {
  switch (act) {
    case 'redrive':
      return operateItem.redrive(client, key, { by, reason, acceptRisk });
    case 'discard':
      return operateItem.discard(client, key, { by, reason });
    case 'resolve':
      return operateItem.resolve(client, key, { by, reason, receipt: { upstreamId: upstreamId ?? null } });
  }
}

function describeAnswer({ key, state, reason, receipt }: ItemAnswer): string {
  const why = receipt === null ? (reason ?? '') : describeReceipt(receipt);
  return `item ${key} is ${state}${why === '' ? '' : `: ${why}`}`;
}
