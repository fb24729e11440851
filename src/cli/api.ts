import { existsSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import type { createApi } from '../api/app.ts';
import { KeyRing } from '../api/key-ring.ts';
import { KEYS_FILE, KeysFileError } from '../api/keys-file.ts';
import { isLoopback } from '../api/local-only.ts';
import { lazyClient } from '../connection.ts';
import { parseDuration } from '../domain/duration.ts';
import { CliError, EXIT } from './exit.ts';
import { nextSignal } from './signals.ts';

const flagsSchema = z.object({
  host: z.string(),
  port: z.int(),
  keys: z.string().optional(),
  limit: z.object({ requests: z.int(), perMs: z.number() }),
  json: z.boolean().optional(),
});

/** `onelane api`: the HTTP service, until SIGINT or SIGTERM. */
export function apiCommand(): Command {
  return new Command('api')
    .description('run the HTTP service: it validates and enqueues, and tells what became of it')
    .option('--host <address>', 'address to listen on; without keys, a loopback one', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes any', portArgument, 8400)
    .option('--keys <file>', `who may use it, as "onelane keys" writes it; ${KEYS_FILE} where it is there`)
    .addOption(
      new Option('--limit <requests/per>', 'what one client may ask')
        .argParser(limitArgument)
        .default(limitArgument('100/1s'), '100/1s'),
    )
    .option('--json', 'print events as JSON lines')
    .action(async (options: unknown) => run(flagsSchema.parse(options)));
}

async function run({ host, port, keys: file, limit, json }: z.infer<typeof flagsSchema>): Promise<void> {
  const stopped = nextSignal();
  const say = (event: string, text: string): void =>
    console.log(json ? JSON.stringify({ event, at: new Date().toISOString(), text }) : text);
  const keys = keyRingIn(file);
  if (keys === null && !isLoopback(host))
    throw new CliError(
      EXIT.usage,
      `--host ${host}: expected a loopback address, since no key is configured; make one: onelane keys create`,
    );
  // Only here: it brings the whole HTTP server, which other commands do without.
  const { createApi } = await import('../api/app.ts');
  const client = await lazyClient();
  const app = await createApi({ client, keys, limit, say: (line) => say('failure', line) });
  try {
    const url = await listening(app, host, port);
    if (keys === null)
      say(
        'open',
        'no key is configured: it listens on loopback only, and everybody on this machine may use it',
      );
    say('listening', `HTTP service listens on ${url}, what it does: ${url}/docs`);
    const signal = await stopped;
    say('stopping', `${signal}: it answers what it was asked, and stops`);
  } finally {
    await app.close();
    await client.connection.close();
  }
}

function keyRingIn(file: string | undefined): KeyRing | null {
  if (file === undefined && !existsSync(KEYS_FILE)) return null;
  const path = file ?? KEYS_FILE;
  if (!existsSync(path)) throw new CliError(EXIT.usage, `--keys ${path}: no such file`);
  try {
    return new KeyRing(path);
  } catch (error) {
    if (error instanceof KeysFileError) throw new CliError(EXIT.usage, error.message);
    throw error;
  }
}

async function listening(
  app: Awaited<ReturnType<typeof createApi>>,
  host: string,
  port: number,
): Promise<string> {
  try {
    await app.listen({ host, port });
    // Not the URL that fastify gives: for every address of the machine it names the loopback one.
    const url = new URL(`http://${isIPv6(host) ? `[${host}]` : host}`);
    const [bound] = app.addresses();
    url.port = String(typeof bound === 'object' ? bound.port : port);
    return url.origin;
  } catch (error) {
    throw new CliError(
      EXIT.usage,
      `cannot listen on ${host}:${port}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function portArgument(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError(`expected a port from 0 to 65535, got "${text}"`);
  return Number(text);
}

function limitArgument(text: string): { requests: number; perMs: number } {
  const [, requests, per] = /^([1-9]\d*)\/(.+)$/.exec(text) ?? [];
  if (requests === undefined || per === undefined)
    throw new InvalidArgumentError(`expected requests/duration, e.g. 100/1s, got "${text}"`);
  try {
    return { requests: Number(requests), perMs: parseDuration(per) };
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
