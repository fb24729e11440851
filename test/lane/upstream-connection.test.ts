import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { after, describe, it } from 'node:test';
import getPort from 'get-port';
import type { CallEnd } from '../../src/domain/verdict.ts';
import { UpstreamConnection, type UpstreamRequest } from '../../src/lane/upstream-connection.ts';
import { until } from '../support/wait.ts';
import { SELF_SIGNED } from './self-signed.ts';

const cleanUps: (() => void)[] = [];
after(() => {
  for (const cleanUp of cleanUps) cleanUp();
});

function connectTo(url: string): UpstreamConnection {
  const connection = new UpstreamConnection(url);
  cleanUps.push(() => connection.close());
  return connection;
}

async function listen(server: net.Server, scheme = 'http'): Promise<string> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  cleanUps.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  return `${scheme}://localhost:${portOf(server)}`;
}

function portOf(server: net.Server): number {
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  return (address satisfies AddressInfo).port;
}

/** A server that sends these bytes, whatever it was asked, and then perhaps hangs up. */
function rawServer(answer: string, then: 'stay' | 'end' | 'reset' = 'stay'): Promise<string> {
  return listen(
    net.createServer((socket) => {
      socket.once('data', () => {
        if (then === 'reset' && answer === '') socket.resetAndDestroy();
        else if (then === 'end') socket.end(answer);
        else socket.write(answer);
      });
    }),
  );
}

function* endless(): Generator<string> {
  for (;;) yield 'x'.repeat(10_000);
}

interface Seen {
  answered: number;
  asked: number;
}

function call(
  connection: UpstreamConnection,
  request: Partial<UpstreamRequest> = {},
  mayLeave: () => boolean = () => true,
): { seen: Seen; end: Promise<CallEnd | { kind: 'kept' }> } {
  const seen = { answered: 0, asked: 0 };
  const end = connection.call(
    { method: 'POST', path: '/releases', headers: {}, body: '{}', timeoutMs: 5_000, ...request },
    {
      mayLeave: () => {
        seen.asked++;
        return mayLeave();
      },
      answered: () => {
        seen.answered++;
      },
    },
  );
  return { seen, end };
}

describe('a call that did not connect', () => {
  it('a refused connection is unconnected, and nobody was asked whether it may leave', async () => {
    const { seen, end } = call(connectTo(`http://localhost:${await getPort()}`));
    assert.deepEqual(await end, { kind: 'unconnected', code: 'ECONNREFUSED' });
    assert.deepEqual(seen, { asked: 0, answered: 0 });
  });

  it('a name that nobody knows is unconnected', async () => {
    const end = await call(connectTo('http://upstream.invalid')).end;
    assert.equal(end.kind, 'unconnected');
  });

  it('a certificate that nobody vouches for is unconnected: not a byte of the request left', async () => {
    let requests = 0;
    const url = await listen(
      https.createServer(SELF_SIGNED, () => requests++),
      'https',
    );
    const { seen, end } = call(connectTo(url));
    assert.deepEqual(await end, { kind: 'unconnected', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    assert.deepEqual(seen, { asked: 0, answered: 0 });
    assert.equal(requests, 0);
  });

  it('a handshake that stalls is unconnected after the timeout', async () => {
    const url = await listen(net.createServer(), 'https');
    const end = await call(connectTo(url), { timeoutMs: 100 }).end;
    assert.deepEqual(end, { kind: 'unconnected', code: 'CONNECT_TIMEOUT' });
  });
});

describe('a call that was not answered', () => {
  it('no answer within the timeout is unanswered, and the upstream sees its connection reset', async () => {
    const errors: string[] = [];
    const url = await listen(
      net.createServer((socket) => {
        socket.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code ?? error.message));
        socket.resume();
      }),
    );
    // Long enough that the server has taken the connection before it is reset, also on a busy machine.
    const { seen, end } = call(connectTo(url), { timeoutMs: 1_000 });
    assert.deepEqual(await end, { kind: 'unanswered', code: 'TIMEOUT' });
    await until('the reset arrives', () => errors.length > 0);
    assert.deepEqual(errors, ['ECONNRESET']);
    assert.deepEqual(seen, { asked: 1, answered: 0 });
  });

  it('the same over TLS, whose connections are closed', async () => {
    let closed = false;
    const server = https.createServer(SELF_SIGNED, (request) => {
      request.socket.on('close', () => (closed = true));
    });
    const url = await listen(server, 'https');
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const end = await call(connectTo(url), { timeoutMs: 200 }).end;
      assert.deepEqual(end, { kind: 'unanswered', code: 'TIMEOUT' });
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
    await until('the upstream sees the close', () => closed);
  });

  for (const [name, answer, then, code] of [
    ['a reset after the request', '', 'reset', 'ECONNRESET'],
    ['a close after the request', '', 'end', 'ECONNRESET'],
    ['half a status line', 'HTTP/1.1 20', 'end', 'ECONNRESET'],
    ['an answer that is no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'stay', 'HPE_INVALID_CONSTANT'],
    ['headers without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`, 'stay', 'HPE_HEADER_OVERFLOW'],
    [
      'a switch to another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
      'stay',
      'TIMEOUT',
    ],
  ] as const)
    it(`${name} is unanswered`, async () => {
      const { end } = call(connectTo(await rawServer(answer, then)), { timeoutMs: 500 });
      assert.deepEqual(await end, { kind: 'unanswered', code });
    });
});

describe('an answer', () => {
  it('a status, the headers that mean something, and the body come as they were sent', async () => {
    const url = await listen(
      http.createServer((_request, response) => {
        response.writeHead(429, {
          Date: 'Wed, 12 Aug 2026 17:00:00 GMT',
          'Retry-After': '2',
          RateLimit: '"default";r=0;t=30',
          'Idempotent-Replayed': 'true',
          Location: '/releases/7',
          'Set-Cookie': 'a=b',
        });
        response.end('{"error":"slow down €"}');
      }),
    );
    const { seen, end } = call(connectTo(url));
    assert.deepEqual(await end, {
      kind: 'answered',
      status: 429,
      headers: {
        date: 'Wed, 12 Aug 2026 17:00:00 GMT',
        retryAfter: '2',
        rateLimit: '"default";r=0;t=30',
        idempotentReplayed: 'true',
        location: '/releases/7',
      },
      body: '{"error":"slow down €"}',
      whole: true,
    });
    assert.deepEqual(seen, { asked: 1, answered: 1 });
  });

  const HALF = 'HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"id":';
  it('a body that is cut off leaves an answer that is not whole', async () => {
    const { seen, end } = call(connectTo(await rawServer(HALF, 'end')));
    assert.deepEqual(await end, { kind: 'answered', status: 201, headers: {}, body: '{"id":', whole: false });
    assert.equal(seen.answered, 1);
  });

  it('a body that stalls until the timeout leaves an answer that is not whole', async () => {
    const { end } = call(connectTo(await rawServer(HALF)), { timeoutMs: 200 });
    assert.deepEqual(await end, { kind: 'answered', status: 201, headers: {}, body: '{"id":', whole: false });
  });

  it('a chunked body that ends without its last chunk is not whole', async () => {
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n';
    const end = await call(connectTo(await rawServer(chunked, 'end'))).end;
    assert(end.kind === 'answered');
    assert.equal(end.whole, false);
  });

  it('a redirect is answered as it came and never followed', async () => {
    const paths: (string | undefined)[] = [];
    const url = await listen(
      http.createServer((request, response) => {
        paths.push(request.url);
        response.writeHead(302, { Location: '/elsewhere' }).end();
      }),
    );
    const end = await call(connectTo(url)).end;
    assert(end.kind === 'answered');
    assert.equal(end.status, 302);
    assert.equal(end.headers.location, '/elsewhere');
    assert.deepEqual(paths, ['/releases']);
  });

  it('of a body without end 64 KiB are read, and the connection goes with the rest', async () => {
    let closed = false;
    const url = await listen(
      http.createServer((_request, response) => {
        Readable.from(endless()).pipe(response);
        response.on('close', () => (closed = true));
      }),
    );
    const end = await call(connectTo(url)).end;
    assert(end.kind === 'answered');
    assert.equal(end.body.length, 64 * 1024);
    assert.equal(end.whole, true);
    await until('the upstream sees the close', () => closed);
  });
});

describe('what leaves', () => {
  it('method, path, body and headers are those given, and no header that was not', async () => {
    let arrived: { line: string; headers: string[]; body: string } | undefined;
    const url = await listen(
      http.createServer((request, response) => {
        request.setEncoding('utf8');
        let body = '';
        request.on('data', (chunk: string) => (body += chunk));
        request.on('end', () => {
          arrived = { line: `${request.method} ${request.url}`, headers: asLines(request.rawHeaders), body };
          response.end();
        });
      }),
    );
    await call(connectTo(`${url}/v1/`), {
      method: 'PUT',
      path: '/packages/a%2Fb',
      headers: { 'Idempotency-Key': 'release:a:1' },
      body: '{"a":"€"}',
    }).end;
    assert.deepEqual(arrived, {
      line: 'PUT /v1/packages/a%2Fb',
      headers: [
        'Idempotency-Key: release:a:1',
        'content-length: 11',
        `Host: ${url.slice('http://'.length)}`,
        'Connection: keep-alive',
      ],
      body: '{"a":"€"}',
    });
  });

  for (const state of ['new', 'kept alive'] as const)
    it(`on a ${state} connection, a call that may not leave is kept, and not a byte of it arrives`, async () => {
      const received: string[] = [];
      let closed = 0;
      const url = await listen(
        net.createServer((socket) => {
          socket.setEncoding('utf8').on('data', (text: string) => {
            received.push(text);
            socket.write('HTTP/1.1 204 No Content\r\n\r\n');
          });
          socket.on('close', () => closed++);
        }),
      );
      const connection = connectTo(url);
      if (state === 'kept alive') await call(connection, { path: '/before' }).end;
      const before = received.length;
      const { seen, end } = call(connection, {}, () => false);
      assert.deepEqual(await end, { kind: 'kept' });
      await until('the upstream sees the close', () => closed === 1);
      assert.equal(received.length, before);
      assert.deepEqual(seen, { asked: 1, answered: 0 });
    });

  it('connections are kept alive', async () => {
    let connections = 0;
    const server = http.createServer((_request, response) => response.end());
    server.on('connection', () => connections++);
    const connection = connectTo(await listen(server));
    for (let i = 0; i < 5; i++) assert.equal((await call(connection).end).kind, 'answered');
    assert.equal(connections, 1);
  });

  it('there are as many connections as there are calls at once, and the next calls use them again', async () => {
    let connections = 0;
    const open: http.ServerResponse[] = [];
    // Answers by twos, so that one connection alone would get no answer.
    const server = http.createServer((_request, response) => {
      if (open.push(response) === 2) for (const answer of open.splice(0)) answer.end();
    });
    server.on('connection', () => connections++);
    const connection = connectTo(await listen(server));
    for (let i = 0; i < 10; i++) {
      const ends = await Promise.all([call(connection).end, call(connection).end]);
      assert(ends.every(({ kind }) => kind === 'answered'));
    }
    assert.equal(connections, 2);
  });

  it('1,000 calls, however they end, leave no socket and no warning of too many listeners', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    let asked = 0;
    let open = 0;
    const server = http.createServer((request, response) => {
      switch (asked++ % 4) {
        case 0:
          return response.end('{}');
        case 1:
          return request.socket.destroy();
        case 2:
          return response.writeHead(200, { 'content-length': 9 }).end('{}', () => request.socket.destroy());
        default:
          return response.writeHead(302).end();
      }
    });
    server.on('connection', (socket) => {
      open++;
      socket.on('close', () => open--);
    });
    const connection = connectTo(await listen(server));
    for (let i = 0; i < 1_000; i++) await call(connection, {}, () => i % 10 !== 9).end;
    process.off('warning', warn);
    assert.equal(asked, 900);
    assert.deepEqual(warnings, []);
    await until('only the one kept-alive connection is left', () => open <= 1);
    connection.close();
    await until('not even that', () => open === 0);
  });
});

/** Names and values by turns, as Node gives them. */
function asLines(rawHeaders: readonly string[]): string[] {
  return rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}`] : []));
}
