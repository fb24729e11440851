import { Command } from 'commander';
import { z } from 'zod';
import { ConfigError, loadConfig } from '../config.ts';
import { connectClient, connectNative } from '../connection.ts';
import { namespaceWarnings } from '../namespace.ts';
import { CliError, EXIT } from './exit.ts';
import { nextSignal } from './signals.ts';

const flagsSchema = z.object({ config: z.string(), json: z.boolean().optional() });

/** `onelane worker`: dispatch, items and lanes, until SIGINT or SIGTERM. */
export function workerCommand(): Command {
  return new Command('worker')
    .description('run a worker: it dispatches batches and calls the upstreams of all lanes in the file')
    .option('--config <file>', 'the lanes', 'lanes.yaml')
    .option('--json', 'print events as JSON lines')
    .action(async (options: unknown) => run(flagsSchema.parse(options)));
}

async function run({ config: file, json }: z.infer<typeof flagsSchema>): Promise<void> {
  const stopped = nextSignal();
  const config = readConfig(file);
  const say = (event: string, text: string): void =>
    console.log(json ? JSON.stringify({ event, at: new Date().toISOString(), text }) : text);
  // Loaded only here: other commands do without the SDK's native core, and start faster for it.
  const { installRuntime, startWorker } = await import('../worker.ts');
  installRuntime();
  const client = await connectClient();
  const { connection, namespace } = await connectNative();
  try {
    const warnings = await namespaceWarnings(client.connection, namespace, [...config.lanes.values()]);
    for (const warning of warnings) say('warning', `warning: ${warning}`);
    const worker = await startWorker({ config, connection, client, say: (line) => say('lane', line) });
    say('ready', `worker ready; lanes: ${[...config.lanes.keys()].join(', ')}`);
    void stopped.then((signal) => worker.stop(signal));
    await worker.ended;
    say('stopped', 'worker stopped; everything it held was given back');
  } finally {
    await client.connection.close();
    await connection.close();
  }
}

function readConfig(file: string) {
  try {
    return loadConfig(file, process.env);
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(EXIT.usage, error.message);
    throw error;
  }
}
