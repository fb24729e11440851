import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy on 127.0.0.1 whose ends can be cut from each other, as a network would: in silence. */
export class Proxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ near: Socket; far: Socket }>();
  #cut = { toServer: false, fromServer: false };

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param target host:port */
  static async start(target: string): Promise<Proxy> {
    const [host = '', port = ''] = target.split(':');
    const proxy: Proxy = new Proxy(createServer((near) => proxy.#join(near, connect(Number(port), host))));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** host:port */
  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen');
    return `127.0.0.1:${address.port}`;
  }

  #join(near: Socket, far: Socket): void {
    const pair = { near, far };
    this.#pairs.add(pair);
    const close = () => {
      near.destroy();
      far.destroy();
      this.#pairs.delete(pair);
    };
    for (const socket of [near, far]) socket.on('error', close).on('close', close);
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => near.write(bytes));
    this.#apply(pair);
  }

  /**
   * Stops forwarding, in the directions that are named, on connections old and new. They stay open; what is sent
   * meanwhile arrives when they are mended, as TCP would see to.
   */
  cut(directions: { toServer: boolean; fromServer: boolean }): void {
    this.#cut = directions;
    for (const pair of this.#pairs) this.#apply(pair);
  }

  mend(): void {
    this.cut({ toServer: false, fromServer: false });
  }

  /** Breaks every connection: what was under way arrives nowhere. */
  sever(): void {
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }

  #apply({ near, far }: { near: Socket; far: Socket }): void {
    if (this.#cut.toServer) near.pause();
    else near.resume();
    if (this.#cut.fromServer) far.pause();
    else far.resume();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.sever();
    await once(this.#server, 'close');
  }
}
