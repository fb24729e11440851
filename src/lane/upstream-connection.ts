import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { AnswerHeaders, CallEnd } from '../domain/verdict.ts';

/** Answers are read up to here unless a request says otherwise; more is neither evidence nor worth the memory. */
export const MAX_BODY_BYTES = 64 * 1024;
/** Below the 5 s after which most servers close an idle connection: a call that meets such a closing is ambiguous. */
const IDLE_CONNECTION_MS = 4_000;

export interface UpstreamRequest {
  readonly method: string;
  /** below the base URL, beginning with `/`, already percent-encoded */
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  /** from the first byte until the whole answer is there; also how long a connection may take to stand */
  readonly timeoutMs: number;
  /** bytes of the answer */
  readonly readAtMost?: number;
}

/** What a call tells about itself while it goes on. */
export interface CallObserver {
  /** The connection stands and not a byte is out. False keeps the request from leaving. */
  mayLeave(): boolean;
  /** The status came. */
  answered(): void;
}

/**
 * Kept-alive connections to one upstream. Redirects are never followed, nothing is ever retried, and every
 * way in which a call can end is told apart by what it proves: `unconnected` that nothing arrived, `answered`
 * that it did, `unanswered` nothing.
 */
export class UpstreamConnection {
  readonly #baseUrl: URL;
  readonly #agent: http.Agent;
  /** connections that are through with connecting, TLS included */
  readonly #standing = new WeakSet<Socket>();

  constructor(baseUrl: string) {
    this.#baseUrl = new URL(baseUrl);
    // As many sockets as there are calls: the lane's slots bound them.
    const options = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
    this.#agent = this.#secure ? new https.Agent(options) : new http.Agent(options);
  }

  get #secure(): boolean {
    return this.#baseUrl.protocol === 'https:';
  }

  close(): void {
    this.#agent.destroy();
  }

  call(request: UpstreamRequest, observer: CallObserver): Promise<CallEnd | { kind: 'kept' }> {
    const bytes = Buffer.from(request.body);
    const outgoing = (this.#secure ? https : http).request({
      agent: this.#agent,
      method: request.method,
      protocol: this.#baseUrl.protocol,
      // URL keeps the brackets of an IPv6 address, the resolver doesn't want them.
      hostname: this.#baseUrl.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: this.#baseUrl.port,
      path: this.#baseUrl.pathname.replace(/\/$/, '') + request.path,
      headers: { ...request.headers, 'content-length': bytes.length },
    });
    return this.#follow(outgoing, bytes, request, observer);
  }

  #follow(
    outgoing: http.ClientRequest,
    body: Buffer,
    { timeoutMs, readAtMost = MAX_BODY_BYTES }: UpstreamRequest,
    observer: CallObserver,
  ): Promise<CallEnd | { kind: 'kept' }> {
    return new Promise((resolve) => {
      let left = false;
      let ended = false;
      let answer: PartialAnswer | undefined;
      const finish = (end: CallEnd | { kind: 'kept' }) => {
        clearTimeout(timer);
        ended = true;
        resolve(end);
      };
      const fail = (code: string) => {
        outgoing.destroy();
        if (answer !== undefined) finish({ ...answer.end(), whole: false });
        else finish(left ? { kind: 'unanswered', code } : { kind: 'unconnected', code });
      };
      const timeOut = () => {
        if (ended) return;
        // A reset instead of a polite close: the upstream should not work on for nobody. TLS can't be reset by
        // Node, which throws instead; there the close must do.
        if (!this.#secure) outgoing.socket?.resetAndDestroy();
        fail('TIMEOUT');
      };
      let timer = setTimeout(() => fail('CONNECT_TIMEOUT'), timeoutMs);

      const leave = () => {
        if (!observer.mayLeave()) {
          outgoing.destroy();
          return finish({ kind: 'kept' });
        }
        left = true;
        clearTimeout(timer);
        // Where the whole process was stopped, an answer that came meanwhile lies unread when the timer fires at last.
        // It is evidence, and it is read before an immediate has its turn.
        timer = setTimeout(() => setImmediate(timeOut), timeoutMs);
        outgoing.end(body);
      };
      outgoing.once('socket', (socket) => {
        // `reusedSocket` would not do: it is false on a connection that came free while this request queued for it.
        if (this.#standing.has(socket)) return leave();
        socket.once(this.#secure ? 'secureConnect' : 'connect', () => {
          this.#standing.add(socket);
          leave();
        });
      });
      outgoing.once('response', (incoming) => {
        observer.answered();
        const partial = new PartialAnswer(incoming, readAtMost);
        answer = partial;
        incoming.on('data', (chunk: Buffer) => {
          if (partial.add(chunk) === 'more') return;
          // Enough was read. The rest would keep the connection busy, so it goes with it.
          finish({ ...partial.end(), whole: true });
          outgoing.destroy();
        });
        incoming.once('end', () => finish({ ...partial.end(), whole: incoming.complete }));
        incoming.once('error', (error) => fail(codeOf(error)));
      });
      outgoing.on('error', (error) => fail(codeOf(error)));
    });
  }
}

/** An answer as far as it has come. */
class PartialAnswer {
  readonly #incoming: http.IncomingMessage;
  readonly #most: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(incoming: http.IncomingMessage, most: number) {
    this.#incoming = incoming;
    this.#most = most;
  }

  add(chunk: Buffer): 'more' | 'full' {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    return this.#bytes > this.#most ? 'full' : 'more';
  }

  end(): Omit<Extract<CallEnd, { kind: 'answered' }>, 'whole'> {
    return {
      kind: 'answered',
      // Node always sets it on a response that it parsed.
      status: this.#incoming.statusCode ?? 0,
      headers: meaningfulHeaders(this.#incoming.headers),
      body: Buffer.concat(this.#chunks).subarray(0, this.#most).toString('utf8'),
    };
  }
}

/** By their lower-case names. */
export function meaningfulHeaders(headers: http.IncomingHttpHeaders): AnswerHeaders {
  const one = (name: string) => {
    const value = headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
  const named = {
    retryAfter: one('retry-after'),
    date: one('date'),
    rateLimit: one('ratelimit'),
    idempotentReplayed: one('idempotent-replayed'),
    location: one('location'),
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

/** The code only: messages of network errors may hold addresses and more. */
function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
