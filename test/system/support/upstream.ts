import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { FaultScript } from '../../../src/dev/upstream/faults.ts';
import type { LookupScript } from '../../../src/dev/upstream/lookup-faults.ts';
import type { Mode } from '../../../src/dev/upstream/records.ts';
import { onelane, type Process } from './process.ts';

/** A quota that no test reaches by accident. */
export const PLENTY = '10000/1s';

export interface UpstreamSetup {
  /** `keys` when absent */
  readonly mode?: Mode;
  /** as on the command line; `PLENTY` when absent */
  readonly quota?: string;
  readonly latency?: string;
  readonly faults?: FaultScript;
  readonly lookupFaults?: LookupScript;
}

const arrivalSchema = z.object({
  key: z.string().nullable(),
  /** comparable within one run of the upstream */
  monotonicMs: z.number(),
  wallMs: z.number(),
  bodySha256: z.string().nullable(),
  status: z.number().nullable(),
  endedMs: z.number().nullable(),
});
export type Arrival = z.infer<typeof arrivalSchema>;

const statsSchema = z.object({
  arrivals: z.number(),
  effects: z.number(),
  keysWithTwoEffects: z.number(),
  maxInAnyWindow: z.number(),
  maxInFlight: z.number(),
  status429: z.number(),
});

/** The sample upstream as a process of its own, on one file and one port across restarts. */
export class UpstreamProcess {
  readonly #folder: string;
  readonly #setup: UpstreamSetup;
  #process: Process | undefined;
  #url: string | undefined;

  constructor(folder: string, setup: UpstreamSetup) {
    this.#folder = folder;
    this.#setup = setup;
  }

  get url(): string {
    assert.ok(this.#url, 'the upstream has not been started');
    return this.#url;
  }

  /** @param faults take the place of those it was set up with */
  async start(faults = this.#setup.faults): Promise<void> {
    const { mode = 'keys', quota = PLENTY, latency, lookupFaults } = this.#setup;
    const args = ['upstream', '--json', '--db', 'upstream.db', '--mode', mode, '--quota', quota];
    args.push('--port', this.#url === undefined ? '0' : new URL(this.#url).port);
    if (latency !== undefined) args.push('--latency', latency);
    if (faults !== undefined) {
      await writeFile(join(this.#folder, 'faults.json'), JSON.stringify(faults));
      args.push('--faults', 'faults.json');
    }
    if (lookupFaults !== undefined) {
      await writeFile(join(this.#folder, 'lookup-faults.json'), JSON.stringify(lookupFaults));
      args.push('--lookup-faults', 'lookup-faults.json');
    }
    this.#process = onelane(args, { cwd: this.#folder });
    const line = await this.#process.line(/listening/);
    this.#url = z.object({ url: z.string() }).parse(JSON.parse(line)).url;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    await this.#process?.end(signal);
  }

  /** The log, oldest first. */
  async arrivals(key?: string): Promise<Arrival[]> {
    const all = z.array(arrivalSchema).parse(await this.#read('/arrivals'));
    return key === undefined ? all : all.filter((arrival) => arrival.key === key);
  }

  /** The key of every effect: one that stands here twice was done twice. */
  async effects(): Promise<string[]> {
    return z
      .array(z.object({ key: z.string() }))
      .parse(await this.#read('/effects'))
      .map(({ key }) => key);
  }

  async stats(): Promise<z.infer<typeof statsSchema>> {
    return statsSchema.parse(await this.#read('/stats'));
  }

  async #read(path: string): Promise<unknown> {
    const response = await fetch(this.url + path);
    assert.equal(response.status, 200, `GET ${path}`);
    return await response.json();
  }
}

/** Each of these keys was done once, and nothing else was done. */
export async function assertOneEffectEach(upstream: UpstreamProcess, keys: readonly string[]): Promise<void> {
  assert.deepEqual((await upstream.effects()).toSorted(), keys.toSorted());
}
