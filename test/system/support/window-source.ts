import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';

/** A source of schedules with one item for each window, that notes which it was asked for. */
export class WindowSource {
  readonly #server: Server;
  readonly #asked: string[] = [];

  constructor() {
    this.#server = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://source');
      const start = searchParams.get('start') ?? '';
      this.#asked.push(start);
      const item = { key: this.keyOf(start), payload: { start } };
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify([item]));
    });
  }

  /** Begins to listen, and returns what stands in lanes.yaml. */
  async start(): Promise<{ url: string }> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    assert.ok(typeof address === 'object' && address !== null);
    return { url: `http://127.0.0.1:${address.port}/items?start={start}` };
  }

  /** The starts of the windows that it was asked for, in order. */
  get asked(): readonly string[] {
    return this.#asked;
  }

  keyOf(start: string): string {
    return `window:${start}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
