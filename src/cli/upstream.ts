import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { chanceSchema } from '../dev/upstream/chance.ts';
import { faultScriptSchema } from '../dev/upstream/faults.ts';
import { lookupScriptSchema } from '../dev/upstream/lookup-faults.ts';
import { MODES } from '../dev/upstream/records.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from '../dev/upstream/server.ts';
import type { Quota } from '../dev/upstream/window.ts';
import { parseDuration } from '../domain/duration.ts';
import { CliError, EXIT } from './exit.ts';

const flagsSchema = z.object({
  db: z.string(),
  host: z.string(),
  port: z.number(),
  mode: z.enum(MODES),
  quota: z.object({ requests: z.number(), perMs: z.number() }),
  latency: z.number().optional(),
  keyWindow: z.number().optional(),
  faults: z.string().optional(),
  lookupFaults: z.string().optional(),
  countLookups: z.boolean().optional(),
  chance: z.string().optional(),
  seed: z.number(),
  json: z.boolean().optional(),
});
type Flags = z.output<typeof flagsSchema>;

/** `onelane upstream`: the sample upstream in a process of its own, until SIGINT or SIGTERM. */
export function upstreamCommand(): Command {
  return new Command('upstream')
    .description('run the sample upstream: an API with a quota, a unique constraint and faults on demand')
    .requiredOption('--db <file>', 'SQLite file for its effects and arrivals; made when absent')
    .requiredOption('--quota <requests/per>', 'what it grants, e.g. 5/1s', quotaArgument)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes any', portArgument, 0)
    .addOption(new Option('--mode <mode>', 'what it does about repeated keys').choices(MODES).default('keys'))
    .option(
      '--latency <duration>',
      'from a request to its answer, e.g. 20ms; none when absent',
      durationArgument,
    )
    .option(
      '--key-window <duration>',
      'how long mode keys knows a key again, e.g. 10s; for ever when absent',
      durationArgument,
    )
    .option('--count-lookups', 'lookups count against the quota, and are logged as arrivals')
    .option('--lookup-faults <file>', 'JSON: for each key, the faults of its lookups')
    .option('--faults <file>', 'JSON: for each key, the faults of its arrivals')
    .option('--chance <file>', 'JSON: faults, each with a probability, for keys without a script')
    .option('--seed <integer>', 'decides what chance brings', seedArgument, 1)
    .option('--json', 'print events as JSON lines')
    .action(async (options: unknown) => run(flagsSchema.parse(options)));
}

async function run(flags: Flags): Promise<void> {
  const stop = stopSignal();
  const upstream = await start(flags);
  const { url } = upstream;
  console.log(flags.json ? JSON.stringify({ event: 'listening', url }) : `sample upstream listens on ${url}`);
  await stop;
  await upstream.close();
}

async function start({ db, host, port, mode, quota, latency, ...flags }: Flags): Promise<Upstream> {
  const options: UpstreamOptions = { file: db, host, port, mode, quota, latencyMs: latency ?? 0 };
  if (flags.keyWindow !== undefined) options.keyWindowMs = flags.keyWindow;
  if (flags.countLookups !== undefined) options.countLookups = flags.countLookups;
  if (flags.lookupFaults !== undefined)
    options.lookupFaults = readJson(flags.lookupFaults, lookupScriptSchema);
  if (flags.faults !== undefined) options.faults = readJson(flags.faults, faultScriptSchema);
  if (flags.chance !== undefined)
    options.chance = { seed: flags.seed, faults: readJson(flags.chance, chanceSchema) };
  try {
    return await startUpstream(options);
  } catch (error) {
    throw new CliError(EXIT.usage, messageOf(error));
  }
}

/** Listens for signals at once, so that one which comes during the start is not lost. */
async function stopSignal(): Promise<void> {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

function readJson<T>(file: string, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CliError(EXIT.usage, `${file}: expected a JSON file: ${messageOf(error)}`);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new CliError(EXIT.usage, `${file}:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function durationArgument(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}

function quotaArgument(text: string): Quota {
  const [, requests, per] = /^([1-9]\d*)\/(.+)$/.exec(text) ?? [];
  if (requests === undefined || per === undefined)
    throw new InvalidArgumentError(`expected requests/duration, e.g. 5/1s, got "${text}"`);
  return { requests: Number(requests), perMs: durationArgument(per) };
}

function portArgument(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError(`expected a port from 0 to 65535, got "${text}"`);
  return Number(text);
}

function seedArgument(text: string): number {
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError(`expected an integer, got "${text}"`);
  return Number(text);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
