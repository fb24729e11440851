import type { z } from 'zod';
import { type Config, checkConfig, loadConfig } from '../config.ts';
import { isMapping } from '../config/faults.ts';
import type { LaneSchema } from '../config/schema.ts';
import { parseLaneName } from '../domain/ids.ts';
import {
  FunctionUpstream,
  LOOKUP_PATH,
  type UpstreamFunction,
  type UpstreamFunctions,
  type UpstreamLookup,
  functionPath,
} from '../lane/function-upstream.ts';
import { type Reach, overHttp } from '../lane/upstream.ts';

/** A lane as lanes.yaml has it (docs/lanes-yaml.md): durations are texts, `none` is written out. */
export type HttpLane = z.input<typeof LaneSchema>;

/** A lane whose upstream is TypeScript functions, one for each operation. */
export interface FunctionLane extends Omit<HttpLane, 'upstream'> {
  readonly upstream: Omit<HttpLane['upstream'], 'baseUrl' | 'headers' | 'operations' | 'lookup'> & {
    readonly operations: Readonly<Record<string, UpstreamFunction>>;
    readonly lookup?: UpstreamLookup;
  };
}

/** Lanes by their names. */
export type Lanes = Readonly<Record<string, HttpLane | FunctionLane>>;

/** Stands where another lane has its URL. Nothing is ever sent there. */
const NO_URL = 'http://function.invalid';

/** A checked configuration, and how the upstreams of its lanes are reached. */
export interface CheckedLanes {
  readonly config: Config;
  readonly reach: Reach;
}

/**
 * Checks lanes that are written in TypeScript, in a lanes.yaml, or in both, all in one go.
 *
 * @throws ConfigError that lists every fault
 */
export function checkLanes(
  { lanes, config: file }: { lanes?: Lanes | undefined; config?: string | undefined },
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): CheckedLanes {
  const functions = new Map<string, UpstreamFunctions>();
  const plain = Object.entries(lanes ?? {}).map(([name, lane]) => {
    if (!isFunctionLane(lane)) return [name, lane] as const;
    const operations = Object.entries(lane.upstream.operations);
    functions.set(name, {
      operations: new Map(operations.map(([operation, fn]) => [functionPath(operation), fn])),
      lookup: lane.upstream.lookup ?? null,
    });
    return [name, asHttpLane(lane)] as const;
  });
  const written =
    lanes === undefined ? [] : [...checkConfig({ lanes: Object.fromEntries(plain) }, 'lanes', env).lanes];
  const fromFile = file === undefined ? undefined : loadConfig(file, env);
  const read = [...(fromFile?.lanes ?? [])];
  const twice = read.find(([name]) => Object.hasOwn(lanes ?? {}, name));
  if (twice !== undefined) throw new TypeError(`lanes.${twice[0]}: ${file} has a lane of this name, too`);
  if (lanes === undefined && file === undefined)
    throw new TypeError('expected lanes, or config with the name of a file');
  return {
    config: { lanes: new Map([...read, ...written]), sources: fromFile?.sources ?? new Map() },
    reach: (name, config) => {
      const own = functions.get(parseLaneName(name).lane);
      return own === undefined ? overHttp(name, config) : new FunctionUpstream(name, own, say);
    },
  };
}

function isFunctionLane(lane: HttpLane | FunctionLane): lane is FunctionLane {
  // Callers in JavaScript may leave out anything; what is missing is named by the check that follows.
  const operations: unknown = isMapping(lane?.upstream) ? lane.upstream.operations : undefined;
  return (
    isMapping(operations) && Object.values(operations).some((operation) => typeof operation === 'function')
  );
}

function asHttpLane(lane: FunctionLane): HttpLane {
  const operations = Object.entries(lane.upstream.operations).map(([name, operation]) => [
    name,
    // Where one is no function, the check names it.
    typeof operation === 'function' ? { method: 'POST', path: functionPath(name) } : operation,
  ]);
  const { lookup, ...upstream } = lane.upstream;
  return {
    ...lane,
    upstream: {
      ...upstream,
      baseUrl: NO_URL,
      operations: Object.fromEntries(operations),
      ...(lookup === undefined ? {} : { lookup: { path: LOOKUP_PATH } }),
    },
  };
}
