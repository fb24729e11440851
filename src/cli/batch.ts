import { userInfo } from 'node:os';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { type BatchStatus, batchReport, batchStatus } from '../client.ts';
import { describeReport, failureLine } from './batch-report-text.ts';
import { CliError, EXIT } from './exit.ts';
import { operateOnBatch } from './operate-on-batch.ts';
import { print, table } from './print.ts';
import { wholeNumber } from './whole-number.ts';
import { withClient } from './with-client.ts';

const ACTS = ['pause', 'resume', 'discard'] as const;
const flagsSchema = z.object({
  report: z.boolean().optional(),
  page: z.int().optional(),
  by: z.string(),
  reason: z.string().optional(),
  json: z.boolean().optional(),
});
type Flags = z.infer<typeof flagsSchema>;

/** `onelane batch ID`: where each of its items stands; an accounting of it; and what operators do to what is left. */
export function batchCommand(): Command {
  return new Command('batch')
    .description(
      'show where each item of a batch stands, account for all of it, or operate on what is left of it',
    )
    .argument('<id>', "the batch's ID")
    .argument(`[${ACTS.join('|')}]`, 'what to do, on all of its pages')
    .option('--report', 'account for every position of every page, in sums that must add up')
    .option('--page <number>', 'show this page of it; by default the first, which is 0', wholeNumber)
    .addOption(new Option('--by <name>', 'who does it; kept with the items').default(userInfo().username))
    .option('--reason <text>', 'why; kept with the items')
    .option('--json', 'print one JSON object')
    .action(async (batchId: string, act: string | undefined, options: unknown) => {
      const flags = flagsSchema.parse(options);
      if (act !== undefined) await operate(batchId, act, flags);
      else if (flags.report) await report(batchId, flags);
      else await show(batchId, flags);
    });
}

async function operate(
  batchId: string,
  actText: string,
  { by, reason, json, ...flags }: Flags,
): Promise<void> {
  const act = z.enum(ACTS).safeParse(actText);
  if (!act.success) throw new CliError(EXIT.usage, `expected one of ${ACTS.join(', ')}, got "${actText}"`);
  if (flags.report) throw new CliError(EXIT.usage, `--report: expected it without ${act.data}`);
  if (reason === undefined) throw new CliError(EXIT.usage, `--reason: expected why, got nothing`);
  process.exitCode = await withClient((client) =>
    operateOnBatch(client, { batchId, act: act.data, by, reason, json }),
  );
}

async function report(batchId: string, { json }: Flags): Promise<void> {
  const found = await withClient((client) => batchReport(client, batchId));
  print(json, found, () => describeReport(found));
  if (!found.addsUp) process.exitCode = EXIT.failed;
  else if (found.failure !== null) process.exitCode = EXIT.itemsRefused;
  else process.exitCode = found.counts.pending + found.extent.absentPages.length > 0 ? EXIT.pending : EXIT.ok;
}

async function show(batchId: string, { page, json }: Flags): Promise<void> {
  const status = await withClient((client) => batchStatus(client, batchId, page));
  print(json, status, () => describe(status));
  if (status.failure !== null) process.exitCode = EXIT.itemsRefused;
  else process.exitCode = status.admitted ? EXIT.ok : EXIT.pending;
}

function describe(status: BatchStatus): string {
  const rows = status.admissions.map((admission) => {
    const key = admission.key ?? '-';
    const state = admission.admission === 'accepted' ? status.states[admission.key] : undefined;
    const note =
      'reason' in admission ? admission.reason : 'state' in admission ? `already ${admission.state}` : '';
    return [String(admission.position), key, admission.admission, state ?? '', note];
  });
  const { counts: sums, failure, held, discarded } = status;
  const counts = Object.entries(sums).filter(([, count]) => count > 0);
  const told = status.from === 'workflow' ? '' : ' (no worker answered: put together from history)';
  return [
    table(['#', 'key', 'admission', 'state', ''], rows),
    `batch ${status.batchId}, lane ${status.lane}, its workflow is ${status.workflow}${told}`,
    ...(failure === null ? [] : [failureLine(failure)]),
    ...(held === null ? [] : [`paused by ${held.by}: ${held.reason}`]),
    ...(discarded === null ? [] : [`discarded by ${discarded.by}: ${discarded.reason}`]),
    counts.map(([name, count]) => `${count} ${name}`).join(', '),
    ...(status.page === 0 && status.pages === 1 ? [] : [pagesOf(status)]),
  ].join('\n');
}

function pagesOf({ page, pages }: BatchStatus): string {
  const whole = pages === null ? 'how many pages there are is not told in it' : `one of ${pages} pages`;
  return `this is page ${page}, ${whole}; --page shows another, and --report accounts for all`;
}
