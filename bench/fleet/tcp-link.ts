import { once } from 'node:events';
import { createServer, connect, type Server, type Socket } from 'node:net';

export type Direction = 'toServer' | 'fromServer';

/**
 * A TCP proxy that can stop forwarding. What is sent meanwhile stays in the buffers and arrives late, as on a
 * network that comes back; what is longer than they are waits with its sender.
 */
export class TcpLink {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #server: Server;
  readonly #pipes = new Set<Pipe>();
  #cut: ReadonlySet<Direction> = new Set();
  /** connections made while cut: a handshake needs both directions, so they get nowhere */
  #waiting: Socket[] = [];

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) =>
      this.#take(client),
    );
  }

  static async open(target: { readonly host: string; readonly port: number }): Promise<TcpLink> {
    const link = new TcpLink(target);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
    return address.port;
  }

  /** Forwards in these directions no more; in none of them: in both again. */
  cut(...directions: readonly Direction[]): void {
    this.#cut = new Set(directions);
    for (const pipe of this.#pipes) pipe.flow(this.#cut);
    if (directions.length > 0) return;
    for (const client of this.#waiting.splice(0)) this.#join(client);
  }

  async close(): Promise<void> {
    const ended = once(this.#server, 'close');
    this.#server.close();
    for (const client of this.#waiting) client.destroy();
    for (const pipe of this.#pipes) pipe.destroy();
    await ended;
  }

  #take(client: Socket): void {
    client.on('error', () => client.destroy());
    if (this.#cut.size > 0) this.#waiting.push(client);
    else this.#join(client);
  }

  #join(client: Socket): void {
    const server = connect({ ...this.#target, allowHalfOpen: true });
    server.on('error', () => server.destroy());
    const pipe = new Pipe(client, server);
    this.#pipes.add(pipe);
    pipe.flow(this.#cut);
    void pipe.ended.then(() => this.#pipes.delete(pipe));
  }
}

/** One connection through the link. */
class Pipe {
  readonly #client: Socket;
  readonly #server: Socket;
  #cut: ReadonlySet<Direction> = new Set(['toServer', 'fromServer']);
  readonly ended: Promise<unknown>;

  constructor(client: Socket, server: Socket) {
    this.#client = client;
    this.#server = server;
    this.ended = Promise.all([closed(client), closed(server)]);
    client.once('close', () => this.#passOnEnd());
    server.once('close', () => this.#passOnEnd());
  }

  flow(cut: ReadonlySet<Direction>): void {
    this.#set('toServer', this.#client, this.#server, cut);
    this.#set('fromServer', this.#server, this.#client, cut);
    this.#cut = cut;
    this.#passOnEnd();
  }

  #set(direction: Direction, from: Socket, to: Socket, cut: ReadonlySet<Direction>): void {
    if (cut.has(direction) === this.#cut.has(direction)) return;
    if (cut.has(direction)) from.unpipe(to);
    else from.pipe(to);
  }

  /** Not even that an end broke passes a link that is cut. */
  #passOnEnd(): void {
    if (this.#client.destroyed && !this.#cut.has('toServer')) this.#server.destroy();
    if (this.#server.destroyed && !this.#cut.has('fromServer')) this.#client.destroy();
  }

  destroy(): void {
    this.#client.destroy();
    this.#server.destroy();
  }
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once('close', () => resolve());
  });
}
