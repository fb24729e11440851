import type { CallEnd } from '../domain/verdict.ts';
import { parseLaneName } from '../domain/ids.ts';
import type { Json } from '../domain/json.ts';
import { type UpstreamAnswer, UpstreamAnswerSchema } from './answers.ts';
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

/** The path that stands for a function's operation, where another lane has a URL's. */
export function functionPath(operation: string): string {
  return `/${operation}`;
}

/** An upstream whose operations are functions of this process. */
export class FunctionUpstream implements Upstream {
  readonly #partition: string | null;
  readonly #functions: ReadonlyMap<string, UpstreamFunction>;
  readonly #say: (line: string) => void;

  /** @param functions by their `functionPath` */
  constructor(lane: string, functions: ReadonlyMap<string, UpstreamFunction>, say: (line: string) => void) {
    this.#partition = parseLaneName(lane).partition;
    this.#functions = functions;
    this.#say = say;
  }

  async call(
    request: UpstreamRequest,
    observer: CallObserver,
    { key, attempt }: CallOf,
  ): Promise<CallEnd | { kind: 'kept' }> {
    const operation = this.#functions.get(request.path);
    // An item that was admitted under another configuration: nothing was done, as when no server listens.
    if (operation === undefined) return { kind: 'unconnected', code: `NO_FUNCTION ${request.path}` };
    if (!observer.mayLeave()) return { kind: 'kept' };
    const signal = AbortSignal.timeout(request.timeoutMs);
    const payload: Json = JSON.parse(request.body);
    const correlationId = request.headers['X-Correlation-ID'] ?? null;
    const call: UpstreamCall = {
      key,
      operation: request.path.slice(1),
      payload,
      partition: this.#partition,
      correlationId,
      attempt,
      signal,
    };
    try {
      const answer = await Promise.race([(async () => await operation(call))(), ended(signal)]);
      const end = endOf(answer);
      observer.answered();
      return end;
    } catch (error) {
      if (signal.aborted) return { kind: 'unanswered', code: 'TIMEOUT' };
      // What an error says may hold anything, secrets included: it is said here, and not stored.
      this.#say(`operation ${call.operation} of item ${key} threw ${String(error)}`);
      return { kind: 'unanswered', code: `THREW ${error instanceof Error ? error.name : typeof error}` };
    }
  }

  close(): void {
    // Nothing is kept open between two calls.
  }
}

async function ended(signal: AbortSignal): Promise<never> {
  return await new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('its time is over')), { once: true });
  });
}

/** @throws z.ZodError when it is no answer: then nobody knows what was done */
function endOf(answer: UpstreamAnswer): CallEnd {
  const { status, headers, body } = UpstreamAnswerSchema.parse(answer);
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
  // Undefined for what JSON has no word for, such as a function.
  const text: string | undefined = JSON.stringify(body);
  return text ?? '';
}
