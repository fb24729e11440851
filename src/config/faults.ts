import type { z } from 'zod';

/** Where a fault stands, e.g. `['lanes', 'releases', 'limit', 'per']`; empty for the file as a whole. */
export type Path = readonly PropertyKey[];

export interface Fault {
  /** e.g. `lanes.releases.limit.per` */
  readonly path: string;
  /** what was expected and what came; never the value of a header or of an environment variable */
  readonly problem: string;
}

/** Everything that is wrong with a configuration file, in one go, so that it is mended in one go. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly Fault[];

  constructor(file: string, faults: readonly Fault[]) {
    const lines = faults.map(({ path, problem }) => (path === '' ? `  ${problem}` : `  ${path}: ${problem}`));
    super([`${file}: ${faults.length === 1 ? '1 fault' : `${faults.length} faults`}`, ...lines].join('\n'));
    this.faults = faults;
  }
}

export function fault(path: Path, problem: string): Fault {
  return { path: pathText(path), problem };
}

/** A name with a dot or the like stands in brackets, so that it is not read as two. */
function pathText(path: Path): string {
  return path
    .map((step, i) => {
      const name = String(step);
      if (!/^[\w-]+$/.test(name)) return `[${JSON.stringify(name)}]`;
      return i === 0 ? name : `.${name}`;
    })
    .join('');
}

/**
 * Turns zod's issues into faults.
 *
 * @param raw what was checked: the value that came is looked up in it
 * @param at where `raw` stands in the file
 */
export function faultsOf(issues: readonly z.core.$ZodIssue[], raw: unknown, at: Path): Fault[] {
  return issues.flatMap((issue) => {
    const path = [...at, ...issue.path];
    const came = valueAt(raw, issue.path);
    // Of "none, or these fields" the fields were meant, when fields came.
    if (issue.code === 'invalid_union' && isMapping(came))
      return faultsOf(issue.errors.at(-1) ?? [], came, path);
    if (issue.code === 'invalid_key')
      return [fault(path, issue.issues.map(({ message }) => message).join('; '))];
    // These are sentences of our own, which say already what came.
    if (issue.code === 'custom' || issue.code === 'unrecognized_keys') return [fault(path, issue.message)];
    return [fault(path, `${issue.message}, got ${isSecret(path) ? kindOf(came) : describe(came)}`)];
  });
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined where the way does not lead on. */
export function valueAt(raw: unknown, path: Path): unknown {
  let value = raw;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.getOwnPropertyDescriptor(value, step)?.value;
  }
  return value;
}

/** Header values, and a base URL with a password in it, must not come out in an error. */
function isSecret(path: Path): boolean {
  return path.includes('headers') || path.at(-1) === 'baseUrl';
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return kindOf(value);
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}
