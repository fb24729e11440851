import { Command } from 'commander';
import { z } from 'zod';
import { type ItemRecord, itemRecord } from '../client.ts';
import { print } from './print.ts';
import { withClient } from './with-client.ts';

const flagsSchema = z.object({ json: z.boolean().optional() });

/** `onelane item KEY`: all that is known of one item. */
export function itemCommand(): Command {
  return new Command('item')
    .description('show what became of an item, with evidence; works with no worker running')
    .argument('<key>', "the item's key")
    .option('--json', 'print one JSON object')
    .action(async (key: string, options: unknown) => {
      const { json } = flagsSchema.parse(options);
      const record = await withClient((client) => itemRecord(client, key));
      print(json, record, () => describe(record));
    });
}

function describe(record: ItemRecord): string {
  const attempts = Object.entries(record.attempts).filter(([, count]) => count > 0);
  const lines: [string, string | null][] = [
    ['key', record.key],
    ['state', record.state],
    ['reason', record.reason],
    ['lane', record.lane],
    ['operation', record.operation],
    ['version', record.version === null ? null : String(record.version)],
    ['batch', `${record.batchId}, position ${record.position}`],
    ['publisher', record.publisher],
    ['correlation ID', record.correlationId],
    ['fingerprint', record.fingerprint],
    ['admitted', record.admittedAt],
    ['next eligible', record.nextEligibleAt],
    ['sender', record.sender && `${record.sender.identity}, until ${record.sender.leaseUntil}`],
    ['attempts', attempts.map(([verdict, count]) => `${count} ${verdict}`).join(', ') || 'none'],
    ['budget left', record.budgetLeft === null ? 'no limit' : String(record.budgetLeft)],
    ['receipt', record.receipt && JSON.stringify(record.receipt)],
    ['last evidence', record.evidence && JSON.stringify(record.evidence)],
  ];
  return lines
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${name.padEnd(15)}${text}`)
    .join('\n');
}
