import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  connect,
  constants,
  createServer,
} from 'node:http2';

/** gRPC names the method in the path: `RecordActivityTaskHeartbeat`, and the one by ID. */
export const HEARTBEATS = /\/RecordActivityTaskHeartbeat/;
export const COMPLETIONS = /\/RespondActivityTaskCompleted/;

/**
 * A gRPC proxy that can hold some calls back, and nothing else. gRPC is plain HTTP/2, so each call is a stream
 * that is copied as it is: headers, data, trailers, resets.
 */
export class GrpcGate {
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  #holding: RegExp | undefined;
  #held: (() => void)[] = [];

  private constructor(server: Http2Server) {
    this.#server = server;
  }

  /** @param address host:port of the gRPC server */
  static async open(address: string): Promise<GrpcGate> {
    const server = createServer();
    const gate = new GrpcGate(server);
    server.on('session', (session) => gate.#takeSession(session, connect(`http://${address}`)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return gate;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
    return address.port;
  }

  /** @param calls whose path matches; HEARTBEATS, COMPLETIONS */
  hold(calls: RegExp): void {
    this.#holding = calls;
  }

  /** how many calls it holds back now, those included whose caller has gone */
  get held(): number {
    return this.#held.length;
  }

  /** Passes on what was held, as far as somebody still waits for the answer. */
  release(): void {
    this.#holding = undefined;
    for (const pass of this.#held.splice(0)) pass();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }

  #takeSession(caller: ServerHttp2Session, callee: ClientHttp2Session): void {
    this.#sessions.add(caller);
    caller.on('error', () => caller.destroy());
    callee.on('error', () => callee.destroy());
    caller.once('close', () => {
      this.#sessions.delete(caller);
      callee.destroy();
    });
    callee.once('close', () => caller.destroy());
    caller.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', () => stream.close(constants.NGHTTP2_CANCEL));
      const pass = () => {
        if (!stream.destroyed && !callee.destroyed) copyCall(stream, headers, callee);
      };
      if (this.#holding?.test(headers[':path'] ?? '')) this.#held.push(pass);
      else pass();
    });
  }
}

function copyCall(
  caller: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  session: ClientHttp2Session,
): void {
  const callee = session.request({ ...headers });
  callee.on('error', () => caller.close(constants.NGHTTP2_CANCEL));
  caller.once('close', () => callee.close(constants.NGHTTP2_CANCEL));
  caller.pipe(callee);
  callee.once('response', (answer, flags) => {
    if (caller.destroyed) return;
    // An error may come as headers alone.
    if (flags & constants.NGHTTP2_FLAG_END_STREAM) return caller.respond(answer, { endStream: true });
    let trailers: IncomingHttpHeaders = {};
    callee.once('trailers', (came) => (trailers = came));
    caller.once('wantTrailers', () => caller.sendTrailers(trailers));
    caller.respond(answer, { waitForTrailers: true });
    callee.pipe(caller);
  });
}
