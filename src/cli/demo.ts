import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { DemoError } from '../dev/demo/ending.ts';
import { liveView, plainView, type View } from '../dev/demo/view.ts';
import { DevServerError } from '../dev/temporal/dev-server.ts';
import { findTemporalCli, TemporalNotFoundError } from '../dev/temporal/find.ts';
import { EXIT } from './exit.ts';

const flagsSchema = z.object({
  seed: z.number(),
  exit: z.boolean().optional(),
  json: z.boolean().optional(),
});
type Flags = z.output<typeof flagsSchema>;

/** `onelane demo`: a batch of 60 releases through one lane, to an upstream that misbehaves in every way it knows. */
export function demoCommand(): Command {
  return new Command('demo')
    .description('watch 60 releases go through one lane to an upstream that misbehaves; takes under a minute')
    .option('--seed <number>', 'decides which releases meet which fault', seedArgument, 1)
    .option('--exit', 'end with the batch, instead of on Ctrl-C')
    .option('--json', 'print one JSON object at the end, and everything else to stderr')
    .action(async (options: unknown) => run(flagsSchema.parse(options)));
}

async function run({ seed, exit, json }: Flags): Promise<void> {
  try {
    // First, while Ctrl-C still ends everything at once: fetching it may take minutes.
    const binary = await findTemporalCli();
    const asked = abortedBySignal();
    const { runDemo } = await import('../dev/demo/run.ts');
    await runDemo({
      seed,
      view: viewFor(json),
      binary,
      cwd: process.cwd(),
      stayUp: !exit,
      signal: asked,
      onReport: (report, broken) => {
        if (json) console.log(JSON.stringify(report));
        for (const sentence of broken) console.error(`onelane: did not hold: ${sentence}`);
        process.exitCode = broken.length === 0 ? EXIT.ok : EXIT.failed;
      },
    });
  } catch (error) {
    if (!isForeseen(error)) throw error;
    console.error(`onelane: ${error.message}`);
    process.exitCode = EXIT.failed;
  }
}

function isForeseen(error: unknown): error is Error {
  return (
    error instanceof DemoError || error instanceof DevServerError || error instanceof TemporalNotFoundError
  );
}

/**
 * Every further signal is ignored: a Ctrl-C under `npm run` comes twice, from the terminal and from npm, and
 * stopping takes seconds. Should we be killed all the same, or lose our terminal, what was started ends by itself.
 */
function abortedBySignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (controller.signal.aborted) return;
      console.error('stopping everything that was started …');
      controller.abort(new DemoError(`ended by ${signal} before the batch had ended`));
    });
  return controller.signal;
}

function viewFor(json: boolean | undefined): View {
  if (json) return plainView((line) => console.error(line));
  return process.stdout.isTTY ? liveView(process.stdout) : plainView((line) => console.log(line));
}

function seedArgument(text: string): number {
  const seed = Number(text);
  if (!/^\d+$/.test(text) || seed >= 2 ** 32)
    throw new InvalidArgumentError(`expected a whole number from 0 to ${2 ** 32 - 1}, got "${text}"`);
  return seed;
}
