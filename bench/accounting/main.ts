import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { forgetOtherTemporals } from '../fleet/environment.ts';
import { runAccounting } from './accounting.ts';

const flagsSchema = z.object({
  items: z.number(),
  seed: z.number(),
  kills: z.number(),
  json: z.boolean().optional(),
  keep: z.boolean().optional(),
});

await new Command('check:accounting')
  .description('lets everything fail and be killed, and accounts for every item; see bench/README.md')
  .option('--items <count>', 'positions published in all', countArgument, 300)
  .option('--seed <integer>', 'decides what fails, and what is killed when', countArgument, 7)
  .option('--kills <count>', 'how often something is killed with SIGKILL', countArgument, 6)
  .option('--json', 'one JSON line')
  .option('--keep', 'keep the folder: logs, databases')
  .action(async (options: unknown) => run(flagsSchema.parse(options)))
  .parseAsync();

async function run({ json, keep, ...asked }: z.infer<typeof flagsSchema>): Promise<void> {
  forgetOtherTemporals();
  const folder = await mkdtemp(join(tmpdir(), 'onelane-accounting-'));
  if (keep) console.error(`logs and databases: ${folder}`);
  else process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  // What it has started ends with this process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const begun = performance.now();
  const report = await runAccounting(folder, asked);
  const line = { ...asked, seconds: Math.round((performance.now() - begun) / 1_000), ...report };
  console.log(json ? JSON.stringify(line) : JSON.stringify(line, null, 2));
  if (!report.holds) process.exitCode = 1;
}

function countArgument(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError(`expected a whole number, got "${text}"`);
  return Number(text);
}
