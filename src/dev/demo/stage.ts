import { setTimeout as sleep } from 'node:timers/promises';
import getPort from 'get-port';
import type { Client } from '@temporalio/client';
import { connectClient } from '../../connection.ts';
import { formatDuration } from '../../domain/duration.ts';
import { type DevServer, startDevServer } from '../temporal/dev-server.ts';
import type { FoundBinary } from '../temporal/find.ts';
import { spawnSupervised, type Supervised } from '../temporal/supervisor.ts';
import { ownCommand, ownEnvironment } from './command.ts';
import { DemoError, orAborted } from './ending.ts';
import { type DemoFolder, writeLanes, writeTemporalConfig } from './folder.ts';
import { readCalls, readWorkerLines } from './observe.ts';
import { LATENCY_MS, QUOTA } from './settings.ts';

/** A worker from sources bundles its workflows first, which takes seconds, on a busy machine many. */
const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 100;

interface Part {
  readonly stop: () => Promise<void>;
}

/** Everything that a run starts: Temporal, the upstream, a worker, and a client. */
export class Stage {
  readonly #folder: DemoFolder;
  readonly #signal: AbortSignal;
  readonly #onDeath: (error: DemoError) => void;
  /** of what was started, the newest last */
  readonly #stops: (() => Promise<void>)[] = [];
  /** what the client was asked for and has not answered yet */
  readonly #asked = new Set<Promise<unknown>>();

  /**
   * @param signal keeps anything more from being started
   * @param onDeath told when a part ends although nobody stopped it
   */
  constructor(folder: DemoFolder, signal: AbortSignal, onDeath: (error: DemoError) => void) {
    this.#folder = folder;
    this.#signal = signal;
    this.#onDeath = onDeath;
  }

  async startTemporal(binary: FoundBinary): Promise<DevServer> {
    this.#signal.throwIfAborted();
    const { temporalDb, log } = this.#folder;
    const server = await startDevServer({
      binary,
      dbFile: temporalDb,
      logFile: log('temporal'),
      headless: false,
    });
    this.#keep('Temporal server', server);
    await writeTemporalConfig(this.#folder, server.address, server.namespace);
    return server;
  }

  async startUpstream(): Promise<{ url: string; stop: () => Promise<void> }> {
    const port = await getPort({ host: '127.0.0.1', reserve: true });
    const url = `http://127.0.0.1:${port}`;
    const { upstreamDb, faults } = this.#folder;
    const door = ['--port', String(port), '--quota', `${QUOTA.requests}/${formatDuration(QUOTA.perMs)}`];
    const manners = ['--latency', formatDuration(LATENCY_MS), '--faults', faults];
    const started = this.#start('upstream', ['upstream', '--db', upstreamDb, ...door, ...manners, '--json']);
    await this.#until('upstream', async () => (await readCalls(url)) !== undefined);
    return { url, stop: started.stop };
  }

  async startWorker(upstreamUrl: string): Promise<void> {
    await writeLanes(this.#folder, upstreamUrl);
    const { lanes, log } = this.#folder;
    this.#start('worker', ['worker', '--config', lanes, '--json']);
    await this.#until('worker', async () =>
      (await readWorkerLines(log('worker'))).some(({ event }) => event === 'ready'),
    );
  }

  async connect(): Promise<Client> {
    const { temporalConfig, path } = this.#folder;
    const client = await connectClient({ env: ownEnvironment(temporalConfig), folder: path });
    this.#stops.push(async () => {
      // On a closed connection, the SDK's next retry of a call would throw where nobody can catch it.
      await Promise.allSettled(this.#asked);
      await client.connection.close();
    });
    return client;
  }

  /** Waits for what the client was asked for, or rejects with the signal's reason when it aborts before. */
  async ask<T>(work: Promise<T>): Promise<T> {
    this.#asked.add(work);
    try {
      return await orAborted(this.#signal, work);
    } finally {
      if (!this.#signal.aborted) this.#asked.delete(work);
    }
  }

  /** Ends all that was started, the newest first, whatever comes of each. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const stop of this.#stops.splice(0).toReversed()) {
      try {
        await stop();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be stopped');
  }

  #start(name: string, subcommand: readonly string[]): Part {
    this.#signal.throwIfAborted();
    const { temporalConfig, log } = this.#folder;
    return this.#keep(name, spawnSupervised(ownCommand(subcommand, temporalConfig), log(name)));
  }

  /** Sees to it that a part is stopped, and that its death is heard of. */
  #keep(name: string, part: Pick<Supervised, 'ended' | 'lastLines' | 'stop'>): Part {
    let stopping = false;
    const hearOfDeath = async () => {
      const how = await part.ended;
      if (!stopping)
        this.#onDeath(new DemoError(`the ${name} ended by itself (${how}): ${part.lastLines(5)}`));
    };
    const heard = hearOfDeath();
    const stop = async () => {
      stopping = true;
      await part.stop();
      await heard;
    };
    this.#stops.push(stop);
    return { stop };
  }

  async #until(name: string, ready: () => Promise<boolean>): Promise<void> {
    const giveUpAt = performance.now() + READY_WITHIN_MS;
    for (;;) {
      if (await ready()) return;
      if (performance.now() > giveUpAt)
        throw new DemoError(
          `the ${name} was not ready within ${formatDuration(READY_WITHIN_MS)}: see ${this.#folder.log(name)}`,
        );
      await sleep(LOOK_EVERY_MS, undefined, { signal: this.#signal });
    }
  }
}
