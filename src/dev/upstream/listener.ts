import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { wait } from './wait.ts';

/** Longer than a lane with a slow pace leaves a connection idle, so that it is the client who closes first. */
const KEEP_ALIVE_MS = 65_000;

/** While the listener is closed, another process may be given its port for a moment. */
const REOPEN_WITHIN_MS = 10_000;
const REOPEN_EVERY_MS = 50;

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP listener that can go away for a time and come back on its port. */
export class Listener {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #stopping = new AbortController();
  #place = { port: 0, host: '' };
  /** Settles when the listener, closed for a time, listens again. */
  #absence: Promise<void> | undefined;

  constructor(handler: RequestHandler) {
    this.#server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, handler);
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** @returns the port, also when 0 asked for any */
  async listen(port: number, host: string): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    const address = this.#server.address();
    if (address === null || typeof address === 'string')
      throw new Error('expected a TCP address to listen on');
    this.#place = { port: address.port, host };
    return address.port;
  }

  /** Resets every connection, refuses new ones for the time, then listens again. Does nothing when already away. */
  closeFor(ms: number): void {
    this.#absence ??= this.#goAway(ms).finally(() => (this.#absence = undefined));
  }

  async #goAway(ms: number): Promise<void> {
    await this.#closeNow();
    await wait(ms, this.#stopping.signal);
    const giveUpAt = performance.now() + REOPEN_WITHIN_MS;
    while (!this.#stopping.signal.aborted) {
      try {
        await this.listen(this.#place.port, this.#place.host);
        return;
      } catch (error) {
        if (performance.now() > giveUpAt) throw error;
        await wait(REOPEN_EVERY_MS, this.#stopping.signal);
      }
    }
  }

  async #closeNow(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await closed;
  }

  /** Ends every connection and gives the port back. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#absence;
    if (this.#server.listening) await this.#closeNow();
  }
}
