/**
 * The `onelane` program as it runs now, from a checkout (`tsx src/cli/main.ts`) or from a build, with another
 * subcommand, and with exactly the Temporal configuration of that file.
 *
 * Whoever watches the demo may have a profile or variables for a Temporal of their own. Those must not leak
 * into it: a TLS setting would make the local server unreachable, an address would send the demo elsewhere.
 */
export function ownCommand(
  subcommand: readonly string[],
  temporalConfig: string,
  own: Pick<NodeJS.Process, 'execPath' | 'execArgv' | 'argv' | 'env'> = process,
): string[] {
  const program = own.argv[1];
  if (program === undefined) throw new Error('expected to run as a program with a file of its own');
  const unset = Object.keys(own.env)
    .filter(isTemporalSetting)
    .flatMap((name) => ['-u', name]);
  const set = `TEMPORAL_CONFIG_FILE=${temporalConfig}`;
  return ['/usr/bin/env', ...unset, set, own.execPath, ...own.execArgv, program, ...subcommand];
}

/** The same for this process's own client. */
export function ownEnvironment(
  temporalConfig: string,
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !isTemporalSetting(name));
  return { ...Object.fromEntries(others), TEMPORAL_CONFIG_FILE: temporalConfig };
}

function isTemporalSetting(name: string): boolean {
  return name.startsWith('TEMPORAL_');
}
