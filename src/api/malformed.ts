import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PROBLEM_TYPE, ProblemError, type ProblemKind } from './problems.ts';

/** Answers what never becomes a request: what is no HTTP, too much of it, or expects what we don't do. */
export class Malformed {
  /** of each connection */
  readonly #newest = new WeakMap<Socket, { request: IncomingMessage; response: ServerResponse }>();

  watch(server: Server): void {
    server.prependListener('request', (request, response) =>
      this.#newest.set(request.socket, { request, response }),
    );
    server.on('checkExpectation', (_request, response) => {
      const problem = new ProblemError('expectation-failed', 'header.expect: expected 100-continue, or none');
      response.writeHead(problem.status, { 'Content-Type': PROBLEM_TYPE, Connection: 'close' });
      response.end(JSON.stringify(problem.document));
    });
  }

  answer(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const taken = this.#newest.get(socket);
    // Whoever sends nonsense behind a whole request must not take our answer to that for the answer to the request.
    if (taken?.request.complete === true && !taken.response.writableFinished)
      taken.response.once('close', () => socket.destroySoon());
    else socket.end(refusal(error));
  }
}

function refusal({ code = '' }: { code?: string }): string {
  const [line, kind] = STATUS_LINES[code] ?? (['400 Bad Request', 'bad-request'] as const);
  const { document } = new ProblemError(kind, 'the request is no HTTP that this service understands');
  const body = JSON.stringify({ ...document, status: Number(line.slice(0, 3)) });
  return (
    `HTTP/1.1 ${line}\r\nContent-Type: ${PROBLEM_TYPE}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  );
}

const STATUS_LINES: Readonly<Record<string, readonly [string, ProblemKind]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'timeout'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'too-large'],
};
