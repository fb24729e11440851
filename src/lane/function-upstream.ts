import { z } from 'zod';
import type { CallEnd } from '../domain/verdict.ts';
import { parseLaneName } from '../domain/ids.ts';
import type { Json } from '../domain/json.ts';
import { type UpstreamAnswer, UpstreamAnswerSchema } from './answers.ts';
import { NoAnswerError, failureOf, parsed } from './function-failure.ts';
import type { CallOf, Upstream } from './upstream.ts';
import {
  type CallObserver,
  MAX_BODY_BYTES,
  type UpstreamRequest,
  meaningfulHeaders,
} from './upstream-connection.ts';

/** One attempt of one item, as a function gets it. */
export interface UpstreamCall {
  /** the idempotency key: the same on every attempt, and to be handed on wherever that is possible */
  readonly key: string;
  readonly operation: string;
  readonly payload: Json;
  readonly partition: string | null;
  readonly correlationId: string | null;
  /** of this item, from 1 */
  readonly attempt: number;
  /** aborts at the lane's timeout; what goes on after it must not have an effect any more */
  readonly signal: AbortSignal;
}

/**
 * Does one operation, and says how it ended. A function that throws, or whose time is over, has ended `ambiguous`:
 * perhaps it was done. What is known better is to be answered: `unavailable`, `refused`, …
 */
export type UpstreamFunction = (call: UpstreamCall) => Promise<UpstreamAnswer>;

/** What is known of an item that may have been done. */
export type UpstreamLookupCall = Omit<UpstreamCall, 'operation' | 'payload'>;

/**
 * Says whether the upstream has done what the key stands for: with its own ID if it has one, or null when it surely
 * has not. One that throws, or answers anything else, proves nothing.
 */
export type UpstreamLookup = (call: UpstreamLookupCall) => Promise<{ readonly id?: string } | null>;

/** The functions of one lane. */
export interface UpstreamFunctions {
  /** by their `functionPath` */
  readonly operations: ReadonlyMap<string, UpstreamFunction>;
  readonly lookup: UpstreamLookup | null;
}

/** The path template that stands for the lookup. */
export const LOOKUP_PATH = '/{key}';

/** The path that stands for a function's operation, where another lane has a URL's. */
export function functionPath(operation: string): string {
  return `/${operation}`;
}

/** An upstream whose operations are functions of this process. */
export class FunctionUpstream implements Upstream {
  readonly #partition: string | null;
  readonly #functions: UpstreamFunctions;
  readonly #say: (line: string) => void;

  constructor(lane: string, functions: UpstreamFunctions, say: (line: string) => void) {
    this.#partition = parseLaneName(lane).partition;
    this.#functions = functions;
    this.#say = say;
  }

  async call(
    request: UpstreamRequest,
    observer: CallObserver,
    { key, attempt }: CallOf,
  ): Promise<CallEnd | { kind: 'kept' }> {
    const answering = this.#functionFor(request);
    // An item that was admitted under another configuration: nothing was done, as when no server listens.
    if (answering === undefined) return { kind: 'unconnected', code: `NO_FUNCTION ${request.path}` };
    if (!observer.mayLeave()) return { kind: 'kept' };
    const signal = AbortSignal.timeout(request.timeoutMs);
    const correlationId = request.headers['X-Correlation-ID'] ?? null;
    const call = { key, partition: this.#partition, correlationId, attempt, signal };
    try {
      const answer = await Promise.race([(async () => await answering(call))(), ended(signal)]);
      const end = endOf(answer);
      observer.answered();
      return end;
    } catch (error) {
      if (signal.aborted) return { kind: 'unanswered', code: 'TIMEOUT' };
      const { code, what } = failureOf(error);
      this.#say(`${request.method} ${request.path} of item ${key} ${what}`);
      return { kind: 'unanswered', code };
    }
  }

  #functionFor({
    method,
    path,
    body,
  }: UpstreamRequest): ((call: UpstreamLookupCall) => Promise<UpstreamAnswer>) | undefined {
    const { operations, lookup } = this.#functions;
    if (method === 'GET')
      return lookup === null ? undefined : async (call) => found(call, await lookup(call));
    const operation = operations.get(path);
    if (operation === undefined) return undefined;
    return async (call) => {
      const payload: Json = JSON.parse(body);
      return await operation({ ...call, operation: path.slice(1), payload });
    };
  }

  close(): void {
    // Nothing is kept open between two calls.
  }
}

/** As an API would answer, so that it is read as any other lookup. */
function found({ key }: UpstreamLookupCall, answer: unknown): UpstreamAnswer {
  const receipt = parsed(FoundSchema, answer);
  return receipt === null ? { status: 404, body: {} } : { status: 200, body: { key, ...receipt } };
}

const FoundSchema = z.object({ id: z.string().optional() }).nullable();

async function ended(signal: AbortSignal): Promise<never> {
  return await new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('its time is over')), { once: true });
  });
}

/** @throws NoAnswerError when it is none: then nobody knows what was done */
function endOf(answer: UpstreamAnswer): CallEnd {
  const { status, headers, body } = parsed(UpstreamAnswerSchema, answer);
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    kind: 'answered',
    status,
    headers: meaningfulHeaders(Object.fromEntries(lowerCase)),
    body: textOf(body).slice(0, MAX_BODY_BYTES),
    whole: true,
  };
}

function textOf(body: unknown): string {
  if (typeof body === 'string') return body;
  try {
    // Undefined for what JSON has no word for, such as a function.
    const text: string | undefined = JSON.stringify(body);
    return text ?? '';
  } catch {
    throw new NoAnswerError('body: expected text, or what JSON carries');
  }
}
