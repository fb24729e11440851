import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerProblem, type Ending } from './answer.ts';
import { finish } from './finish.ts';
import { delaySeconds, faultKind, type Fault } from './faults.ts';
import { Lookups } from './lookups.ts';
import type { Mode } from './records.ts';
import type { UpstreamStore } from './store.ts';
import { wait } from './wait.ts';
import type { QuotaDoor } from './window.ts';
import type { Work } from './work.ts';

/** Four times the largest payload that onelane sends; bounds what one request can make this process hold. */
const MAX_BODY_BYTES = 1024 * 1024;

export interface OperationsContext {
  /** this process's name in the log */
  readonly run: string;
  readonly mode: Mode;
  /** from a request's headers to its answer */
  readonly latencyMs: number;
  readonly store: UpstreamStore;
  readonly door: QuotaDoor;
  readonly work: Work;
  readonly lookups: Lookups;
  /** for a key's nth arrival within the quota */
  readonly faultFor: (key: string, n: number) => Fault | undefined;
  readonly closeListenerFor: (ms: number) => void;
  readonly stopping: AbortSignal;
}

interface Arrival {
  readonly sequence: number;
  readonly arrivedMs: number;
  readonly key: string | null;
  readonly method: string;
  readonly path: string;
  readonly fault: Fault | undefined;
  /** set when the quota turns it away */
  readonly retryAfterSeconds: number | undefined;
}

type Throttle = Extract<Fault, { type: 'throttle' }>;

/** Counts, logs and answers the requests that ask for an operation, and lookups where they count, too. */
export class Operations {
  readonly #context: OperationsContext;
  #open = 0;
  /** a throttle that is meant for everybody, and until when on the monotonic clock */
  #throttled: { readonly fault: Throttle; readonly untilMs: number } | undefined;

  constructor(context: OperationsContext) {
    this.#context = context;
  }

  /** Takes a request whose headers are there; settles when it is over and nothing is done for it any more. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { store, work, latencyMs, closeListenerFor, stopping } = this.#context;
    const arrival = this.#arrive(request);
    const gone = new AbortController();
    // 'close' comes when the answer has been handed to the system, or when the connection broke.
    response.once('close', () => {
      this.#open--;
      const status = response.writableFinished ? response.statusCode : null;
      store.end(arrival.sequence, status, performance.now());
      gone.abort();
    });

    const ending = await this.#endingOf(arrival, request, gone.signal);
    const latencyLeft = latencyMs - (performance.now() - arrival.arrivedMs);
    if (latencyLeft > 0) await wait(latencyLeft, AbortSignal.any([gone.signal, stopping]));
    if (!gone.signal.aborted) finish(ending, response, closeListenerFor);
    await aborted(gone.signal);
    work.release(arrival);
  }

  #arrive(request: IncomingMessage): Arrival {
    const { run, mode, store, door } = this.#context;
    const arrivedMs = performance.now();
    const retryAfterSeconds = door.arrive(arrivedMs);
    this.#open++;
    const correlationId = headerOf(request, 'x-correlation-id');
    const idempotencyKey = headerOf(request, 'idempotency-key');
    // Whoever sends to an upstream that takes no keys has no other name for the operation.
    const sentKey = mode === 'keys' ? idempotencyKey : (idempotencyKey ?? correlationId);
    const isLookup = Lookups.is(request);
    const key = isLookup ? Lookups.keyOf(request) : sentKey;
    const overQuota = retryAfterSeconds !== undefined;
    const fault = key === null || overQuota || isLookup ? undefined : this.#faultOf(key, arrivedMs);
    const { method = '', url: path = '' } = request;
    const sequence = store.arrive({
      run,
      monotonicMs: arrivedMs,
      wallMs: Date.now(),
      key,
      method,
      path,
      correlationId,
      openRequests: this.#open,
      overQuota,
      fault: fault ? faultKind(fault) : null,
    });
    return { sequence, arrivedMs, key, method, path, fault, retryAfterSeconds };
  }

  #faultOf(key: string, nowMs: number): Fault | undefined {
    const { store, faultFor } = this.#context;
    if (this.#throttled !== undefined && nowMs < this.#throttled.untilMs) {
      const leftMs = this.#throttled.untilMs - nowMs;
      return { ...this.#throttled.fault, retryAfter: String(Math.ceil(leftMs / 1000)) };
    }
    const fault = faultFor(key, store.arrivalsOf(key) + 1);
    const seconds = fault?.type === 'throttle' && fault.everybody ? delaySeconds(fault) : undefined;
    if (fault?.type === 'throttle' && seconds !== undefined)
      this.#throttled = { fault, untilMs: nowMs + seconds * 1000 };
    return fault;
  }

  async #endingOf(arrival: Arrival, request: IncomingMessage, gone: AbortSignal): Promise<Ending> {
    const body = await readBody(request);
    if (body === 'broken') return { type: 'silence' };
    if (body === 'tooLarge')
      return answerProblem(413, `body: expected at most ${MAX_BODY_BYTES} bytes, got more`);
    const bodySha256 = createHash('sha256').update(body).digest('hex');
    this.#context.store.bodyCame(arrival.sequence, bodySha256);
    if (arrival.retryAfterSeconds !== undefined)
      return answerProblem(429, 'over quota', { 'Retry-After': String(arrival.retryAfterSeconds) });
    if (Lookups.is(request)) return this.#context.lookups.endingOf(arrival.key);
    return this.#context.work.do({ ...arrival, body, bodySha256, gone }, arrival.fault);
  }
}

function headerOf(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Reads a body to its end even when it is too large, so that the client gets to read the answer. */
async function readBody(request: IncomingMessage): Promise<Buffer | 'tooLarge' | 'broken'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    const incoming: AsyncIterable<Buffer> = request;
    for await (const chunk of incoming) {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
    }
  } catch {
    return 'broken';
  }
  return bytes > MAX_BODY_BYTES ? 'tooLarge' : Buffer.concat(chunks);
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
