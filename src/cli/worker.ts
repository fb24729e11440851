import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { ConfigError, loadConfig } from '../config.ts';
import { connectClient, connectNative } from '../connection.ts';
import { SendLogError } from '../lane/send-log.ts';
import { overHttp } from '../lane/upstream.ts';
import { namespaceWarnings } from '../namespace.ts';
import { WORKER_ROLES } from '../worker-roles.ts';
import { CliError, EXIT } from './exit.ts';
import { nextSignal } from './signals.ts';

const flagsSchema = z.object({
  config: z.string(),
  roles: z.array(z.enum(WORKER_ROLES)).min(1),
  sendLog: z.string().optional(),
  json: z.boolean().optional(),
});

/** `onelane worker`: dispatch, items and lanes, until SIGINT or SIGTERM. */
export function workerCommand(): Command {
  return new Command('worker')
    .description('run a worker: it dispatches batches and calls the upstreams of all lanes in the file')
    .option('--config <file>', 'the lanes', 'lanes.yaml')
    .addOption(
      new Option('--roles <roles>', 'what it does, separated by commas')
        .argParser(rolesArgument)
        .default([...WORKER_ROLES], WORKER_ROLES.join(',')),
    )
    .option('--send-log <file>', 'write a line for each call, for onelane audit; one file per process')
    .option('--json', 'print events as JSON lines')
    .action(async (options: unknown) => run(flagsSchema.parse(options)));
}

function rolesArgument(text: string): string[] {
  const roles = text.split(',');
  const unknown = roles.find((role) => !WORKER_ROLES.some((known) => known === role));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`Expected some of ${WORKER_ROLES.join(', ')}, got "${unknown}".`);
  return roles;
}

async function run({ config: file, roles, sendLog, json }: z.infer<typeof flagsSchema>): Promise<void> {
  const stopped = nextSignal();
  const config = readConfig(file);
  const say = (event: string, text: string): void =>
    console.log(json ? JSON.stringify({ event, at: new Date().toISOString(), text }) : text);
  // Loaded only here: other commands do without the SDK's native core, and start faster for it.
  const { installRuntime, startWorker } = await import('../worker.ts');
  // Before the Runtime, which ends with its last connection only: without one it would keep the process for ever.
  const client = await connectClient();
  installRuntime();
  const { connection, namespace } = await connectNative();
  try {
    const warnings = await namespaceWarnings(client.connection, namespace, [...config.lanes.values()]);
    for (const warning of warnings) say('warning', `warning: ${warning}`);
    const worker = await startWorker({
      config,
      roles,
      connection,
      client,
      say: (line) => say('lane', line),
      reach: overHttp,
      sendLogFile: sendLog ?? null,
    }).catch(refuseSendLog);
    say('ready', `worker ready as ${roles.join(' and ')}; lanes: ${[...config.lanes.keys()].join(', ')}`);
    void stopped.then((signal) => worker.stop(signal));
    await worker.ended;
    say('stopped', 'worker stopped; everything it held was given back');
  } finally {
    await client.connection.close();
    await connection.close();
  }
}

function refuseSendLog(error: unknown): never {
  if (error instanceof SendLogError) throw new CliError(EXIT.usage, `--send-log ${error.message}`);
  throw error;
}

function readConfig(file: string) {
  try {
    return loadConfig(file, process.env);
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(EXIT.usage, error.message);
    throw error;
  }
}
