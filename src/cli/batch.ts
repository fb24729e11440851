import { Command } from 'commander';
import { z } from 'zod';
import { type BatchStatus, batchStatus } from '../client.ts';
import { EXIT } from './exit.ts';
import { print, table } from './print.ts';
import { withClient } from './with-client.ts';

const flagsSchema = z.object({ json: z.boolean().optional() });

/** `onelane batch ID`: where each of its items stands. */
export function batchCommand(): Command {
  return new Command('batch')
    .description('show where each item of a batch stands; works with no worker running')
    .argument('<id>', "the batch's ID")
    .option('--json', 'print one JSON object')
    .action(async (batchId: string, options: unknown) => {
      const { json } = flagsSchema.parse(options);
      const status = await withClient((client) => batchStatus(client, batchId));
      print(json, status, () => describe(status));
      process.exitCode = status.admitted ? EXIT.ok : EXIT.pending;
    });
}

function describe(status: BatchStatus): string {
  const rows = status.admissions.map((admission) => {
    const key = admission.key ?? '-';
    const state = admission.admission === 'accepted' ? status.states[admission.key] : undefined;
    const note =
      'reason' in admission ? admission.reason : 'state' in admission ? `already ${admission.state}` : '';
    return [String(admission.position), key, admission.admission, state ?? '', note];
  });
  const counts = Object.entries(status.counts).filter(([, count]) => count > 0);
  const told = status.from === 'workflow' ? '' : ' (no worker answered: put together from history)';
  return [
    table(['#', 'key', 'admission', 'state', ''], rows),
    `batch ${status.batchId}, lane ${status.lane}, its workflow is ${status.workflow}${told}`,
    counts.map(([name, count]) => `${count} ${name}`).join(', '),
  ].join('\n');
}
