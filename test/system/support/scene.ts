import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  type BatchStatus,
  batchStatus,
  type ItemRecord,
  itemRecord,
  type Published,
  publish,
  type PublishedItem,
  operateLane,
} from '../../../src/client.ts';
import { describeOrUndefined } from '../../../src/client/key-holder.ts';
import { batchWorkflowId } from '../../../src/domain/ids.ts';
import type { WorkerRole } from '../../../src/worker-roles.ts';
import { type Ended, onelane, type Process } from './process.ts';
import type { Temporal } from './temporal.ts';
import { UpstreamProcess, type UpstreamSetup } from './upstream.ts';

/** What a test's lane says otherwise than `SHORT_LANE`. */
export interface LaneSetup {
  readonly limit?: { requests: number; per: string; burst?: number };
  readonly timeout?: string;
  readonly lease?: string;
  readonly idempotency?: 'none' | { window: string };
  readonly lookup?: { path: string };
  readonly maxInFlight?: number;
  readonly budget?: number;
  /** another upstream than the scene's own */
  readonly baseUrl?: string;
}

export interface SceneSetup {
  readonly temporal: Temporal;
  /** by name; one called `releases` when absent */
  readonly lanes?: Readonly<Record<string, LaneSetup>>;
  /** where schedules get their items, as lanes.yaml has them; none when absent */
  readonly sources?: Readonly<Record<string, object>>;
  /** null: it has none, and each of its lanes has a baseUrl */
  readonly upstream?: UpstreamSetup | null;
}

export interface WorkerSetup {
  /** all of them when absent */
  readonly roles?: readonly WorkerRole[];
  /** of Temporal, by another way than the direct one */
  readonly address?: string;
  /** a file of the scene's folder */
  readonly sendLog?: string;
}

/** Short enough for a test, long enough for a busy machine. */
const BATCH_WITHIN_MS = 120_000;
/** What a lane has unless its test says otherwise. */
const BUDGET = 5;

/**
 * Where a test plays: a folder, an upstream, lanes, and the worker processes that it starts. Its lane, batch and key
 * names are its own, so that nothing of another test is mistaken for it.
 */
export class Scene {
  readonly upstream: UpstreamProcess;
  readonly folder: string;
  readonly #temporal: Temporal;
  readonly #workers: Process[] = [];
  readonly #prefix = randomUUID().slice(0, 8);

  constructor(folder: string, { temporal, upstream }: SceneSetup) {
    this.folder = folder;
    this.#temporal = temporal;
    this.upstream = new UpstreamProcess(folder, upstream ?? {});
  }

  /** Starts one worker process, and returns when it is ready. */
  async worker({ roles, address, sendLog }: WorkerSetup = {}): Promise<Process> {
    const args = ['worker', '--config', 'lanes.yaml', '--json'];
    if (roles !== undefined) args.push('--roles', roles.join(','));
    if (sendLog !== undefined) args.push('--send-log', sendLog);
    const worker = this.#spawn(args, address);
    this.#workers.push(worker);
    await worker.line(/"event":"ready"/);
    return worker;
  }

  /** Runs a command to its end. */
  async run(...args: string[]): Promise<Ended> {
    return await this.#spawn(args).ended;
  }

  /** Runs a command to its end, by another address of Temporal. */
  async runAt(address: string, ...args: string[]): Promise<Ended> {
    return await this.#spawn(args, address).ended;
  }

  #spawn(args: readonly string[], address = this.#temporal.address): Process {
    const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: this.#temporal.namespace };
    return onelane(args, { cwd: this.folder, env });
  }

  /** A batch ID of this scene's own. */
  batchId(name: string): string {
    return `${name}:${this.#prefix}`;
  }

  async publish(
    batch: string,
    published: readonly PublishedItem[],
    { lane = 'releases', waitMs = BATCH_WITHIN_MS } = {},
  ): Promise<Published> {
    const input = { batchId: this.batchId(batch), lane: this.lane(lane), items: [...published] };
    return await publish(this.#temporal.client, input, { waitMs });
  }

  /** The name under which a lane of this scene stands in lanes.yaml. */
  lane(name: string): string {
    return `${name}-${this.#prefix}`;
  }

  /** Whether Temporal has a page of the batch. */
  async hasPage(batch: string, page: number): Promise<boolean> {
    const id = batchWorkflowId(this.batchId(batch), page);
    return (await describeOrUndefined(this.#temporal.client, id)) !== undefined;
  }

  async status(batch: string): Promise<BatchStatus> {
    return await batchStatus(this.#temporal.client, this.batchId(batch));
  }

  /** What an operator does once whatever made a lane pause itself is mended. */
  async resume(lane = 'releases'): Promise<void> {
    await operateLane.resume(this.#temporal.client, this.lane(lane), { by: 'an operator', reason: 'mended' });
  }

  async record(key: string): Promise<ItemRecord> {
    return await itemRecord(this.#temporal.client, key);
  }

  /** Waits until every item of the batch has ended or parked. */
  async settled(batch: string): Promise<BatchStatus> {
    return await this.settledById(this.batchId(batch));
  }

  async settledById(batchId: string): Promise<BatchStatus> {
    const { client } = this.#temporal;
    const handle = client.workflow.getHandle(batchWorkflowId(batchId));
    await client.withDeadline(Date.now() + BATCH_WITHIN_MS, () => handle.result());
    return await batchStatus(client, batchId);
  }

  /** Writes lanes.yaml; the upstream listens already. */
  async writeLanes(
    lanes: NonNullable<SceneSetup['lanes']>,
    sources: SceneSetup['sources'] = {},
  ): Promise<void> {
    const named = Object.entries(lanes).map(([name, setup]) => [
      this.lane(name),
      laneOf(setup.baseUrl ?? this.upstream.url, setup),
    ]);
    const content = stringify({ lanes: Object.fromEntries(named), sources });
    await writeFile(join(this.folder, 'lanes.yaml'), content);
  }

  async end(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.end('SIGKILL')));
    await this.upstream.end('SIGKILL');
    await rm(this.folder, { recursive: true });
  }
}

function laneOf(baseUrl: string, setup: LaneSetup): object {
  const { limit, timeout, lease, idempotency, lookup, maxInFlight, budget } = setup;
  return {
    owner: 'tests',
    upstream: {
      baseUrl,
      operations: { release: { method: 'POST', path: '/releases' } },
      timeout: timeout ?? '1s',
      idempotency: idempotency ?? { window: '24h' },
      ...(lookup ? { lookup } : {}),
    },
    limit: limit ?? { requests: 50, per: '1s' },
    maxInFlight: maxInFlight ?? 1,
    retry: { budget: budget ?? BUDGET },
    deadline: 'none',
    lease: lease ?? '3s',
  };
}

/** Opens a scene with its upstream listening and lanes.yaml written. Whoever opens it ends it. */
export async function openScene(setup: SceneSetup): Promise<Scene> {
  const scene = new Scene(await mkdtemp(join(tmpdir(), 'onelane-system-')), setup);
  if (setup.upstream !== null) await scene.upstream.start();
  await scene.writeLanes(setup.lanes ?? { releases: {} }, setup.sources);
  return scene;
}

/** Plays a test in a scene, and clears it away however the test ends. */
export async function withScene(setup: SceneSetup, play: (scene: Scene) => Promise<void>): Promise<void> {
  const scene = await openScene(setup);
  try {
    await play(scene);
  } finally {
    await scene.end();
  }
}

/** Items whose keys are `<name>:<n>`, with a correlation ID, by which upstreams without keys know them. */
export function items(name: string, count: number): (PublishedItem & { key: string })[] {
  return Array.from({ length: count }, (_, n) => {
    const key = `${name}:${n}`;
    return { key, payload: { package: name, n }, correlationId: key };
  });
}

export function keysOf(published: readonly { key: string }[]): string[] {
  return published.map(({ key }) => key);
}

/** All that was accepted has succeeded, and nothing is counted twice or not at all. */
export function assertAllSucceeded({ counts }: BatchStatus, accepted: number): void {
  assert.equal(counts.accepted, accepted);
  assert.equal(counts.succeeded, accepted);
  assert.equal(counts.published, accepted + counts.duplicate + counts.conflict + counts.rejected);
}

/** No failed attempt was counted against the item. */
export function assertBudgetUntouched({ key, budgetLeft, attempts }: ItemRecord): void {
  assert.deepEqual(
    { budgetLeft, unavailable: attempts.unavailable, ambiguous: attempts.ambiguous },
    { budgetLeft: BUDGET, unavailable: 0, ambiguous: 0 },
    key,
  );
}
