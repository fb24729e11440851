import { ConfigError, type Fault, faultsOf, isMapping, valueAt } from './config/faults.ts';
import { readLane } from './config/lane.ts';
import { readYaml } from './config/read-yaml.ts';
import { FileSchema } from './config/schema.ts';
import { type SourceConfig, readSource } from './config/source.ts';
import type { LaneConfig } from './domain/policy.ts';

export { ConfigError, type Fault } from './config/faults.ts';

/** The lanes and sources that this process knows, by name. Each is deeply frozen. */
export interface Config {
  readonly lanes: ReadonlyMap<string, LaneConfig>;
  /** where schedules get their items */
  readonly sources: ReadonlyMap<string, SourceConfig>;
}

/**
 * Reads `lanes.yaml` (docs/lanes-yaml.md) and checks all of it in one go: its fields, what they say about
 * each other, and the environment variables that headers and base URLs name.
 *
 * @throws ConfigError that lists every fault; nothing may start then
 */
export function loadConfig(file: string, env: NodeJS.ProcessEnv): Config {
  return checkConfig(readYaml(file), file, env);
}

/**
 * Checks what `lanes.yaml` says, wherever it was written.
 *
 * @param source as an error names it
 * @throws ConfigError that lists every fault
 */
export function checkConfig(raw: unknown, source: string, env: NodeJS.ProcessEnv): Config {
  const parsed = FileSchema.safeParse(raw);
  const faults: Fault[] = parsed.success ? [] : faultsOf(parsed.error.issues, raw, []);
  const lanes = new Map<string, LaneConfig>();
  const rawLanes = valueAt(raw, ['lanes']);
  // From the raw file, so that a fault at its top does not hide those of its lanes.
  for (const [name, rawLane] of isMapping(rawLanes) ? Object.entries(rawLanes) : []) {
    const lane = readLane(name, rawLane, env, faults);
    if (lane) lanes.set(name, deepFreeze(lane));
  }
  const sources = new Map<string, SourceConfig>();
  const rawSources = valueAt(raw, ['sources']);
  for (const [name, rawSource] of isMapping(rawSources) ? Object.entries(rawSources) : []) {
    const read = readSource(name, rawSource, env, faults);
    if (read) sources.set(name, deepFreeze(read));
  }
  if (faults.length > 0) throw new ConfigError(source, faults);
  return Object.freeze({ lanes, sources });
}

function deepFreeze<T extends object>(value: T): Readonly<T> {
  for (const member of Object.values(value))
    if (typeof member === 'object' && member !== null) deepFreeze(member);
  return Object.freeze(value);
}
