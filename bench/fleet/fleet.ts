import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { endsCallsWhenClosed } from '../../src/closed-calls.ts';
import { type DevServer, startDevServer } from '../../src/dev/temporal/dev-server.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import type { Quota } from '../../src/dev/upstream/window.ts';
import type { WorkerRole } from '../../src/worker-roles.ts';
import { formatDuration } from '../../src/domain/duration.ts';
import { Door } from './door.ts';
import { laneHistory } from './history.ts';
import { type Hold, currentHold } from './holds.ts';
import { type Terms, LANE, SHORT, lanesYaml } from './lanes-file.ts';
import { Program } from './program.ts';
import type { Replica } from './replica.ts';
import { Replicas } from './replicas.ts';
import { eventually } from './until.ts';

/** The sample upstream's, unless a case says otherwise. */
export const QUOTA: Quota = { requests: 10, perMs: 1_000 };
const LATENCY_MS = 20;
/** How long the first holder of a fresh fleet, or one after a fault that a case doesn't measure, may take. */
const HELD_WITHIN_MS = 90_000;

export interface FleetOptions {
  /** a folder of its own */
  readonly folder: string;
  readonly replicas: number;
  readonly quota?: Quota;
  readonly terms?: Terms;
  readonly faults?: FaultScript;
  readonly linked?: boolean;
  readonly partitioned?: boolean;
  readonly taskQueuePartitions?: number;
  readonly dynamicConfig?: { readonly [name: string]: number };
}

/** A holder, and what the server says about its hold. */
export interface Holding extends Hold {
  readonly replica: Replica;
}

/** A Temporal server, the sample upstream and some worker processes, all of a case's own. */
export class Fleet {
  readonly client: Client;
  readonly door: Door;
  readonly terms: Terms;
  readonly #replicas: Replicas;

  private constructor(options: FleetOptions, server: DevServer, door: Door, client: Client) {
    const { folder, linked = false } = options;
    this.#replicas = new Replicas({
      folder,
      lanesFile: join(folder, 'lanes.yaml'),
      temporalAddress: server.address,
      linked,
    });
    this.client = client;
    this.door = door;
    this.terms = options.terms ?? SHORT;
  }

  /** Runs a case on a fleet of its own; nothing of it is left afterwards. */
  static async run<T>(options: FleetOptions, use: (fleet: Fleet) => Promise<T>): Promise<T> {
    await mkdir(options.folder, { recursive: true });
    const { dynamicConfig = {}, taskQueuePartitions = 1, replicas } = options;
    const server = await startDevServer({ partitions: taskQueuePartitions, dynamicConfig });
    const stops = [() => server.stop()];
    try {
      const { program, door } = await startUpstream(options);
      stops.push(() => program.destroy());
      const connection = await Connection.connect({
        address: server.address,
        plugins: [endsCallsWhenClosed],
      });
      stops.push(() => connection.close());
      const fleet = new Fleet(options, server, door, new Client({ connection }));
      stops.push(() => fleet.#replicas.destroy());
      // Before the server takes it along: with --keep, it tells where a takeover's time went.
      stops.push(async () =>
        writeFile(join(options.folder, 'lane-history.txt'), await laneHistory(fleet.client, LANE)),
      );
      await Promise.all(Array.from({ length: replicas }, () => fleet.startReplica()));
      return await use(fleet);
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  }

  get replicas(): Replica[] {
    return this.#replicas.alive;
  }

  /** Of all replicas, also of those that are gone. */
  get sendLogs(): string[] {
    return this.#replicas.sendLogs;
  }

  startReplica(roles?: readonly WorkerRole[]): Promise<Replica> {
    return this.#replicas.start(roles);
  }

  /** Who holds the lane now; undefined between two holders. */
  async holding(): Promise<Holding | undefined> {
    const hold = await currentHold(this.client, LANE);
    const replica = this.#replicas.withPid(hold?.pid);
    return hold && replica && { ...hold, replica };
  }

  /** Who holds the lane, once somebody does. */
  held(): Promise<Holding> {
    return eventually('a holder of the lane', HELD_WITHIN_MS, () => this.holding());
  }
}

async function startUpstream({ folder, quota = QUOTA, faults = {}, ...options }: FleetOptions) {
  const faultsFile = join(folder, 'faults.json');
  const logFile = join(folder, 'upstream.log');
  await writeFile(faultsFile, JSON.stringify(faults));
  const limits = [
    '--quota',
    `${quota.requests}/${formatDuration(quota.perMs)}`,
    '--latency',
    `${LATENCY_MS}ms`,
  ];
  const files = ['--db', join(folder, 'upstream.db'), '--faults', faultsFile];
  const program = await Program.start(['upstream', ...files, ...limits, '--json'], {}, logFile, 'listening');
  const url = /"url":"([^"]+)"/.exec(await program.log())?.[1];
  if (url === undefined) throw new Error(`expected the upstream's URL in ${logFile}`);
  const { terms = SHORT, partitioned = false } = options;
  // Each partition has the whole limit: of 300 lanes the upstream sees more.
  const limit = partitioned ? QUOTA : quota;
  await writeFile(join(folder, 'lanes.yaml'), lanesYaml(url, limit, terms, partitioned));
  return { program, door: new Door(url, quota) };
}
