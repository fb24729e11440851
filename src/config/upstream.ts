import { type Fault, type Path, fault, isMapping } from './faults.ts';

/** Headers that onelane sets on each call, beside the one for the key. One from the file would contradict it. */
export const OWN_HEADERS: readonly string[] = [
  'content-type',
  'content-length',
  'host',
  'transfer-encoding',
  'connection',
  'x-correlation-id',
];

interface Expanded {
  readonly text: string;
  /** the values that came from the environment */
  readonly values: readonly string[];
  readonly problems: readonly string[];
}

/** Replaces each `${NAME}`. A variable that is set but empty is a fault too: no header or URL means it so. */
export function expandEnv(text: string, env: NodeJS.ProcessEnv): Expanded {
  const values: string[] = [];
  const problems: string[] = [];
  const expanded = text.replaceAll(/\$\{([^}]*)\}?/g, (placeholder, name: string) => {
    if (!placeholder.endsWith('}') || !/^[A-Za-z_]\w*$/.test(name)) {
      problems.push('expected the name of an environment variable between ${ and }');
      return '';
    }
    const value = env[name];
    if (value === undefined) problems.push(`environment variable ${name} is not set`);
    else if (value === '') problems.push(`environment variable ${name} is empty`);
    else values.push(value);
    return value ?? '';
  });
  return { text: expanded, values, problems };
}

/**
 * Expands and checks a base URL. The answer has no slash at its end, so that a path can be put behind it.
 * What came is not quoted: it may hold a password or what an environment variable holds.
 */
export function readBaseUrl(raw: string, at: Path, env: NodeJS.ProcessEnv, faults: Fault[]): string {
  const { text, problems } = expandEnv(raw, env);
  if (problems.length > 0) {
    faults.push(...problems.map((problem) => fault(at, problem)));
    return '';
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = baseUrlProblem(url, text);
  if (problem !== undefined) faults.push(fault(at, `expected an absolute http or https URL, got ${problem}`));
  return url?.href.replace(/\/+$/, '') ?? '';
}

function baseUrlProblem(url: URL | undefined, text: string): string | undefined {
  if (url === undefined) return 'a text that is no URL';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'another protocol';
  if (url.username !== '' || url.password !== '') return 'one with credentials, which belong in a header';
  if (text.includes('?') || text.includes('#')) return 'one with a query or a fragment';
  return undefined;
}

/** Expands and checks the values of headers. What the schema refuses, e.g. a number, is left to it. */
export function readHeaders(
  raw: unknown,
  at: Path,
  env: NodeJS.ProcessEnv,
  idempotencyHeader: string | undefined,
  faults: Fault[],
): { headers: Record<string, string>; secrets: string[] } {
  const headers: Record<string, string> = {};
  const secrets = new Set<string>();
  const own = new Set([
    ...OWN_HEADERS,
    ...(idempotencyHeader === undefined ? [] : [idempotencyHeader.toLowerCase()]),
  ]);
  const seen = new Set<string>();
  for (const [name, value] of isMapping(raw) ? Object.entries(raw) : []) {
    if (typeof value !== 'string') continue;
    const problem = (text: string) => faults.push(fault([...at, name], text));
    const lowerCase = name.toLowerCase();
    if (own.has(lowerCase)) problem('onelane sets this header itself');
    if (seen.has(lowerCase)) problem('the same header as one above, since case does not count');
    seen.add(lowerCase);
    const { text, values, problems } = expandEnv(value, env);
    problems.forEach(problem);
    // A line break would end the header and begin another; Node would refuse the rest at the first call.
    if (!/^[\x20-\x7e]*$/.test(text))
      problem('expected printable ASCII, got a line break or another character that headers do not carry');
    headers[name] = text;
    for (const secret of values) secrets.add(secret);
  }
  return { headers, secrets: [...secrets] };
}
