import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { findTemporalCli } from '../../src/dev/temporal/find.ts';
import { forgetOtherTemporals } from '../fleet/environment.ts';
import { Findings } from '../fleet/findings.ts';
import { type CaseReport, describeReport } from '../fleet/report.ts';
import { type FilePublish, publishFile } from './file.ts';
import { longestAnswerMs } from './meanwhile.ts';
import { pagesPerSecond, warmUp } from './pages.ts';
import { plainPerSecond } from './plain.ts';
import { type Stand, onStand } from './stand.ts';

/** Twice as many as one page has: some seconds, so that one pause of the machine counts little. */
const PLAIN_WORKFLOWS = 1_000;
const FILE_ITEMS = 20_000;
const PER_STEP = 1_000;
const COMPARED = 5_000;
const PUBLISHER_MB = 150;

const flagsSchema = z.object({
  json: z.boolean().optional(),
  items: z.coerce.number().int().min(10_000).multipleOf(PER_STEP),
});

await new Command('bench:publish')
  .description('measures how fast items are admitted, beside plain Temporal; see bench/README.md')
  .option('--json', 'one JSON line')
  .option('--items <count>', 'how many items the file has', String(FILE_ITEMS))
  .action(async (options: unknown) => run(flagsSchema.parse(options)))
  .parseAsync();

async function run({ json, items }: z.infer<typeof flagsSchema>): Promise<void> {
  forgetOtherTemporals();
  await findTemporalCli();
  const folder = await mkdtemp(join(tmpdir(), 'onelane-publish-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

  const findings = new Findings();
  const begunAtMs = performance.now();
  let failed: string | null = null;
  try {
    await onStand(folder, (stand) => measure(stand, findings, items));
  } catch (error) {
    failed = error instanceof Error ? error.message : String(error);
  }
  const seconds = Math.round((performance.now() - begunAtMs) / 1_000);
  const { checks, told } = findings;
  const holds = failed === null && findings.hold;
  const report: CaseReport = { case: 'publish', holds, failed, seconds, checks, told };
  console.log(json ? JSON.stringify(report) : describeReport(report));
  process.exitCode = holds ? 0 : 1;
}

async function measure(stand: Stand, findings: Findings, items: number): Promise<void> {
  await warmUp(stand);
  const plain = await plainPerSecond(stand, PLAIN_WORKFLOWS);
  findings.tell('plainPerSecond', plain);
  const onePage = await pagesPerSecond(stand, 'one', 1);
  findings.tell('onePagePerSecond', onePage);
  findings.check('onePageOfPlain', onePage / plain, { atLeast: 0.3 });
  const fourPages = await pagesPerSecond(stand, 'four', 4);
  findings.tell('fourPagesPerSecond', fourPages);
  findings.check('fourPagesOfPlain', fourPages / plain, { atLeast: 0.4 });
  findings.tell('longestAnswerMeanwhileMs', await longestAnswerMs(stand));
  judgeFile(await publishFile(stand, items), findings);
}

function judgeFile({ acceptedAtMs, rssMb }: FilePublish, findings: Findings): void {
  // From the item before: a pause between two thousands counts, too.
  const perSecond = (from: number, to: number): number => {
    const before = Math.max(0, from - 1);
    const [first = NaN, last = NaN] = [acceptedAtMs[before], acceptedAtMs[to - 1]];
    return ((to - 1 - before) * 1_000) / (last - first);
  };
  const items = acceptedAtMs.length;
  const thousands = Array.from({ length: items / PER_STEP }, (_, step) => step * PER_STEP);
  findings.tell(
    'filePerSecondByThousand',
    thousands.map((from) => Math.round(perSecond(from, from + PER_STEP))),
  );
  const lastOfFirst = perSecond(items - COMPARED, items) / perSecond(0, COMPARED);
  findings.check('lastFiveThousandOfFirst', lastOfFirst, { atLeast: 0.8 });
  findings.check('publisherMostMb', Math.max(...rssMb), { atMost: PUBLISHER_MB });
  const quarter = Math.ceil(rssMb.length / 4);
  findings.tell(
    'publisherMbByQuarter',
    [0, 1, 2, 3].map((n) => Math.round(Math.max(0, ...rssMb.slice(n * quarter, (n + 1) * quarter)))),
  );
}
