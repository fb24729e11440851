import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { LaneConfig } from '../domain/policy.ts';
import type { Clock } from '../lane/clock.ts';
import { LaneConsumer, type LaneConsumerParts } from '../lane/consumer.ts';
import { UNSHARED } from '../lane/cover.ts';
import { Gate } from '../lane/gate.ts';
import type { Reach } from '../lane/upstream.ts';

/** Far more than a worker takes to begin or end, also on a busy machine. */
const SETTLED_WITHIN_MS = 30_000;

export interface ConsumersParts {
  /** as evidence names who called */
  readonly holder: string;
  readonly connection: NativeConnection;
  readonly client: Client;
  readonly clock: Clock;
  readonly say: (line: string) => void;
  readonly reach: Reach;
}

/**
 * Lane consumers that are started directly, with a clock that the test moves. A lease is an activity that never ends,
 * and would keep the server from skipping time: see docs/decisions/0011.
 */
export class TestConsumers {
  readonly #parts: ConsumersParts;
  readonly #open = new Map<string, { consumer: LaneConsumer; running: Promise<void> }>();

  constructor(parts: ConsumersParts) {
    this.#parts = parts;
  }

  has(name: string): boolean {
    return this.#open.has(name);
  }

  /**
   * @param name the lane's full name
   * @param store what it does to keep a closure for whoever takes the lane up next; by default nobody does
   */
  open(
    name: string,
    config: LaneConfig,
    store: LaneConsumerParts['store'] = () => Promise.resolve(),
  ): LaneConsumer {
    const { clock } = this.#parts;
    const consumer = new LaneConsumer({
      ...this.#parts,
      name,
      config,
      gate: new Gate({ config, clock, cover: UNSHARED }),
      store,
      held: () => true,
      log: null,
    });
    this.#open.set(name, { consumer, running: consumer.start() });
    return consumer;
  }

  /**
   * Resolves when no consumer is changing over. Only then may time pass: the server that skips time hands an item that
   * becomes due meanwhile to the poll of the worker that is leaving, and it is lost until its lease is over.
   */
  async settled(): Promise<void> {
    const giveUpAt = performance.now() + SETTLED_WITHIN_MS;
    while ([...this.#open.values()].some(({ consumer }) => !consumer.isSettled)) {
      if (performance.now() > giveUpAt) throw new Error('a lane consumer neither polls nor rests');
      await sleep(5);
    }
  }

  async close(name: string): Promise<void> {
    const open = this.#open.get(name);
    this.#open.delete(name);
    await open?.consumer.stop('the test is over');
    await open?.running;
  }

  async closeAll(): Promise<void> {
    for (const name of this.#open.keys()) await this.close(name);
  }
}
