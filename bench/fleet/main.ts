import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import pMap from 'p-map';
import { z } from 'zod';
import { findTemporalCli } from '../../src/dev/temporal/find.ts';
import type { FleetCase } from './case.ts';
import { CASES } from './cases/index.ts';
import { Findings } from './findings.ts';
import { forgetOtherTemporals } from './environment.ts';
import { type CaseReport, describeReport } from './report.ts';

/** Cases that wait for leases most of the time. More of them at once would wait for the processor instead. */
const AT_ONCE = 2;

const flagsSchema = z.object({
  json: z.boolean().optional(),
  list: z.boolean().optional(),
  keep: z.boolean().optional(),
  only: z.string().optional(),
});

await new Command('bench:fleet')
  .description('puts fleets of workers through faults, and holds them to their bounds; see bench/README.md')
  .option('--json', 'one JSON line per case')
  .option('--list', 'only tell which cases there are')
  .option('--only <cases>', 'these, separated by commas; kill* takes all that begin so')
  .option('--keep', "keep each case's folder: logs, databases")
  .action(async (options: unknown) => run(flagsSchema.parse(options)))
  .parseAsync();

async function run({ json, list, only, keep }: z.infer<typeof flagsSchema>): Promise<void> {
  const cases = chosen(only);
  if (list) {
    for (const { name, about } of cases) console.log(`${name.padEnd(26)} ${about}`);
    return;
  }
  forgetOtherTemporals();
  // Once, before several cases look for it at the same time: it may have to be fetched.
  await findTemporalCli();
  const folder = await mkdtemp(join(tmpdir(), 'onelane-fleet-'));
  if (keep) console.error(`logs and databases: ${folder}`);
  else process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  // What the cases have started ends with this process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

  const tell = async (one: FleetCase): Promise<void> => {
    const report = await runCase(one, join(folder, one.name));
    console.log(json ? JSON.stringify(report) : describeReport(report));
    if (!report.holds) process.exitCode = 1;
  };
  await pMap(
    cases.filter(({ alone }) => alone),
    tell,
    { concurrency: 1 },
  );
  await pMap(
    cases.filter(({ alone }) => !alone),
    tell,
    { concurrency: AT_ONCE },
  );
}

function chosen(only: string | undefined): readonly FleetCase[] {
  if (only === undefined) return CASES;
  return only.split(',').flatMap((name) => {
    const matching = CASES.filter((one) =>
      name.endsWith('*') ? one.name.startsWith(name.slice(0, -1)) : one.name === name,
    );
    if (matching.length > 0) return matching;
    throw new Error(`--only: expected some of ${CASES.map((one) => one.name).join(', ')}, got "${name}"`);
  });
}

async function runCase({ name, run: measure }: FleetCase, folder: string): Promise<CaseReport> {
  const findings = new Findings();
  const begun = performance.now();
  let failed: string | null = null;
  try {
    await measure(findings, folder);
  } catch (error) {
    failed = error instanceof Error ? error.message : String(error);
  }
  const seconds = Math.round((performance.now() - begun) / 1_000);
  const { checks, told } = findings;
  return { case: name, holds: failed === null && findings.hold, failed, seconds, checks, told };
}
