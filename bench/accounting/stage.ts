import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { endsCallsWhenClosed } from '../../src/closed-calls.ts';
import { type DevServer, startDevServer } from '../../src/dev/temporal/dev-server.ts';
import { currentHold } from '../fleet/holds.ts';
import type { Replica } from '../fleet/replica.ts';
import { Replicas } from '../fleet/replicas.ts';
import { lanesYaml } from './lanes-file.ts';
import { patiently } from './patiently.ts';
import type { LanePlan } from './plan.ts';
import { Upstream } from './upstream.ts';

const REPLICAS = 3;

/** Everything that an accounting runs on, each in a process of its own, and each to be killed: Temporal, upstreams, workers. */
export class Stage {
  readonly client: Client;
  readonly folder: string;
  readonly upstreams: readonly Upstream[];
  readonly replicas: Replicas;
  #temporal: DevServer;

  private constructor(folder: string, temporal: DevServer, client: Client, upstreams: readonly Upstream[]) {
    this.folder = folder;
    this.#temporal = temporal;
    this.client = client;
    this.upstreams = upstreams;
    this.replicas = new Replicas({
      folder,
      lanesFile: join(folder, 'lanes.yaml'),
      temporalAddress: temporal.address,
      linked: false,
    });
  }

  /** Nothing of it is left afterwards but what is in the folder. */
  static async run<T>(
    folder: string,
    seed: number,
    plans: readonly LanePlan[],
    use: (stage: Stage) => Promise<T>,
  ): Promise<T> {
    const stops: (() => Promise<void>)[] = [];
    try {
      const temporal = await startDevServer({ dbFile: dbFileIn(folder) });
      stops.push(() => temporal.stop());
      const upstreams: Upstream[] = [];
      for (const plan of plans) {
        const upstream = await Upstream.start(folder, plan.kind, seed, plan);
        stops.push(() => upstream.destroy());
        upstreams.push(upstream);
      }
      const lanes = upstreams.map(({ kind, door }) => ({ kind, url: door.url }));
      await writeFile(join(folder, 'lanes.yaml'), lanesYaml(lanes));
      const connection = await Connection.connect({
        address: temporal.address,
        plugins: [endsCallsWhenClosed],
      });
      stops.push(() => connection.close());
      const stage = new Stage(folder, temporal, new Client({ connection }), upstreams);
      stops.push(() => stage.#end());
      await Promise.all(Array.from({ length: REPLICAS }, () => stage.replicas.start()));
      return await use(stage);
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  }

  get temporalAddress(): string {
    return this.#temporal.address;
  }

  upstreamOf(lane: string): Upstream {
    const upstream = this.upstreams.find(({ kind }) => kind.lane === lane);
    if (upstream === undefined) throw new Error(`expected a lane of the accounting, got "${lane}"`);
    return upstream;
  }

  /** How many calls have arrived in all lanes. */
  async arrivals(): Promise<number> {
    const stats = await Promise.all(this.upstreams.map(({ door }) => patiently(() => door.stats())));
    return stats.reduce((sum, { arrivals }) => sum + arrivals, 0);
  }

  /** The process that holds a lane now; undefined between two holders. */
  async holderOf(lane: string): Promise<Replica | undefined> {
    const hold = await patiently(() => currentHold(this.client, lane));
    return this.replicas.withPid(hold?.pid);
  }

  async killTemporal(): Promise<void> {
    await this.#temporal.kill();
  }

  /** On the same file and the same port. */
  async startTemporalAgain(): Promise<void> {
    const port = Number(this.#temporal.address.split(':')[1]);
    this.#temporal = await startDevServer({ dbFile: dbFileIn(this.folder), port });
  }

  async #end(): Promise<void> {
    await this.replicas.destroy();
    await this.#temporal.stop();
  }
}

function dbFileIn(folder: string): string {
  return join(folder, 'temporal.db');
}
