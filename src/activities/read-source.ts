import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { glob } from 'tinyglobby';
import type { SourceConfig } from '../config/source.ts';
import { type ItemFormat, ItemTextError, itemsIn } from '../domain/item-text.ts';
import { parseRetryAfter } from '../domain/retry-after.ts';
import { MAX_WINDOW_ITEMS, type Window, fillWindow } from '../domain/window.ts';

/** Read whole before any of it is published, and held in memory several times over. */
const MAX_SOURCE_BYTES = 64 * 1024 * 1024;

/** As long as a firing goes on asking. Whoever wants to be left alone for longer would hold up the windows after it. */
const MAX_RETRY_AFTER_MS = 3_600_000;

const FORMATS: Readonly<Record<string, ItemFormat>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
};

/** A source did not give the items of a window. Nothing of the window was published. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  /** whether asking again, with nothing changed by anybody, may help */
  readonly mayPass: boolean;
  /** the source's own wish, in milliseconds */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    { mayPass, retryAfterMs }: { mayPass: boolean; retryAfterMs?: number | undefined },
  ) {
    super(message);
    this.mayPass = mayPass;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Asked {
  readonly schedule: string;
  readonly window: Window;
  readonly timeZone: string;
}

/**
 * Asks a source for all items of a window. An item that can't be read does not stop the others: see `itemsIn`.
 *
 * @throws SourceError that names neither address nor headers, which may hold secrets
 */
export async function readSource(
  config: SourceConfig,
  asked: Asked,
  signal: AbortSignal,
): Promise<unknown[]> {
  const items =
    config.kind === 'http' ? await readHttp(config, asked, signal) : await readFiles(config.pattern, asked);
  if (items.length > MAX_WINDOW_ITEMS)
    throw lasting(`expected at most ${MAX_WINDOW_ITEMS} items in a window, got ${items.length}`);
  return items;
}

async function readHttp(
  { url, headers, timeoutMs }: Extract<SourceConfig, { kind: 'http' }>,
  asked: Asked,
  signal: AbortSignal,
): Promise<unknown[]> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const response = await fetch(fillWindow(url, asked, encodeURIComponent), {
      headers: { Accept: 'application/json, application/x-ndjson', ...headers },
      // Elsewhere the headers would go to somebody else.
      redirect: 'manual',
      signal: within,
    });
    if (response.status === 204) return [];
    if (response.status !== 200) throw await refusedBy(response);
    const format = formatOf(response.headers.get('content-type'));
    return itemsOf(await textOf(response), format, 'its answer');
  } catch (error) {
    if (error instanceof SourceError) throw error;
    signal.throwIfAborted();
    throw passing(
      within.aborted ? `no whole answer within ${timeoutMs} ms` : `no whole answer: ${causeOf(error)}`,
    );
  }
}

async function refusedBy(response: Response): Promise<SourceError> {
  await response.body?.cancel();
  const { status, headers } = response;
  const mayPass = status >= 500 || status === 408 || status === 425 || status === 429;
  const retryAfter = parseRetryAfter(
    headers.get('retry-after') ?? undefined,
    headers.get('date') ?? undefined,
    Date.now(),
  );
  const retryAfterMs = retryAfter.usable ? retryAfter.delayMs : undefined;
  if (mayPass && retryAfterMs !== undefined && retryAfterMs > MAX_RETRY_AFTER_MS)
    return lasting(
      `expected status 200 or 204, got ${status}, and a Retry-After of ${Math.ceil(retryAfterMs / 1000)} s, ` +
        'which is longer than an hour',
    );
  return new SourceError(`expected status 200 or 204, got ${status}`, { mayPass, retryAfterMs });
}

function formatOf(contentType: string | null): ItemFormat {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const format = Object.hasOwn(FORMATS, type) ? FORMATS[type] : undefined;
  if (format === undefined)
    throw lasting(
      `expected content type application/json or application/x-ndjson, got ${type === '' ? 'none' : type.slice(0, 80)}`,
    );
  return format;
}

/** Stops reading as soon as it is too much, however much more would come. */
async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_SOURCE_BYTES) throw tooLong();
    chunks.push(chunk);
  }
  return decode(Buffer.concat(chunks), 'its answer');
}

async function readFiles(pattern: string, asked: Asked): Promise<unknown[]> {
  const names = await glob(
    fillWindow(pattern, asked, (value) => value),
    { absolute: true, onlyFiles: true },
  );
  if (names.length === 0) throw passing('expected files of this window, found none');
  const items: unknown[] = [];
  let bytes = 0;
  for (const name of names.toSorted()) {
    const format = fileFormat(name);
    bytes += (await stat(name)).size;
    if (bytes > MAX_SOURCE_BYTES) throw tooLong();
    for (const item of itemsOf(decode(await readFile(name), name), format, name)) items.push(item);
  }
  return items;
}

function fileFormat(name: string): ItemFormat {
  const extension = extname(name).toLowerCase();
  if (extension === '.json') return 'json';
  if (extension === '.ndjson' || extension === '.jsonl') return 'ndjson';
  throw lasting(`${name}: expected a file named .ndjson, .jsonl or .json`);
}

function decode(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw lasting(`${what}: expected UTF-8`);
  }
}

function itemsOf(text: string, format: ItemFormat, what: string): unknown[] {
  try {
    return itemsIn(text, format);
  } catch (error) {
    if (error instanceof ItemTextError) throw lasting(`${what}: ${error.message}`);
    throw error;
  }
}

function tooLong(): SourceError {
  return lasting(`expected at most ${MAX_SOURCE_BYTES / 1024 / 1024} MiB for a window, got more`);
}

function passing(message: string): SourceError {
  return new SourceError(message, { mayPass: true });
}

function lasting(message: string): SourceError {
  return new SourceError(message, { mayPass: false });
}

/** The code only: messages of network errors may hold addresses and more. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.name : 'unknown';
}
