import { windowTemplateFault } from '../domain/window.ts';
import { type Fault, type Path, fault, faultsOf, valueAt } from './faults.ts';
import { SourceSchema } from './schema.ts';
import { expandEnv, readHeaders } from './upstream.ts';

/** Where schedules get their items. Never leaves the process: address and headers may hold secrets. */
export type SourceConfig =
  /** `url` and `pattern` have the window's placeholders in them */
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly timeoutMs: number;
    }
  | { readonly kind: 'files'; readonly pattern: string };

/**
 * Checks one source of the file; every fault is added to `faults`.
 *
 * @returns undefined when its fields could not be read
 */
export function readSource(
  name: string,
  raw: unknown,
  env: NodeJS.ProcessEnv,
  faults: Fault[],
): SourceConfig | undefined {
  const at = ['sources', name];
  const parsed = SourceSchema.safeParse(raw);
  if (!parsed.success) faults.push(...faultsOf(parsed.error.issues, raw, at));
  const { headers } = readHeaders(valueAt(raw, ['headers']), [...at, 'headers'], env, undefined, faults);
  const rawUrl = valueAt(raw, ['url']);
  const url = typeof rawUrl === 'string' ? readUrl(rawUrl, [...at, 'url'], env, faults) : '';
  if (!parsed.success) return undefined;
  const { files, timeout } = parsed.data;
  return files === undefined
    ? { kind: 'http', url, headers, timeoutMs: timeout }
    : { kind: 'files', pattern: files };
}

/** What came is not quoted: it may hold what an environment variable holds. */
function readUrl(raw: string, at: Path, env: NodeJS.ProcessEnv, faults: Fault[]): string {
  const { text, problems } = expandEnv(raw, env);
  const problem = problems[0] ?? windowTemplateFault(raw.replaceAll(/\$\{[^}]*\}?/g, '')) ?? urlProblem(text);
  if (problem !== undefined) faults.push(fault(at, problem));
  return text;
}

function urlProblem(text: string): string | undefined {
  // Braces are no part of a URL until they are filled.
  const filled = text.replaceAll(/\{\w*\}/g, 'x');
  const url = URL.canParse(filled) ? new URL(filled) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    return 'expected an absolute http or https URL';
  if (url.username !== '' || url.password !== '') return 'expected no credentials, which belong in a header';
  // A host that depends on the window would take the headers with it.
  return /^[^:]+:\/\/[^/?#]*\{/.test(text) ? 'expected placeholders in its path or query only' : undefined;
}
