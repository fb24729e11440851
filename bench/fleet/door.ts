import { z } from 'zod';
import { arrivalRecord } from '../../src/dev/upstream/records.ts';
import type { Quota } from '../../src/dev/upstream/window.ts';

const arrivalsSchema = z.array(arrivalRecord.extend({ overQuota: z.boolean() }));
export type Arrival = z.output<typeof arrivalsSchema>[number];

const effectsSchema = z.array(z.object({ id: z.string(), key: z.string() }));
export type Effect = z.output<typeof effectsSchema>[number];

const statsSchema = z.object({
  arrivals: z.number(),
  effects: z.number(),
  keysWithTwoEffects: z.number(),
  maxInAnyWindow: z.number(),
  maxInFlight: z.number(),
  status429: z.number(),
  scripted429: z.number(),
});
export type DoorStats = z.output<typeof statsSchema>;

/** What is seen at the upstream's door. Instants are epoch ms, of the clock that the bench itself has. */
export class Door {
  readonly url: string;
  readonly quota: Quota;

  constructor(url: string, quota: Quota) {
    this.url = url;
    this.quota = quota;
  }

  /** Every call that ever arrived, in order. */
  async arrivals(): Promise<Arrival[]> {
    return arrivalsSchema.parse(await this.#read('/arrivals'));
  }

  /** Everything that was done, each with the upstream's ID of it and the key that it was done for. */
  async effects(): Promise<Effect[]> {
    return effectsSchema.parse(await this.#read('/effects'));
  }

  async stats(): Promise<DoorStats> {
    return statsSchema.parse(await this.#read('/stats'));
  }

  async #read(path: string): Promise<unknown> {
    const response = await fetch(this.url + path);
    if (!response.ok) throw new Error(`${path}: expected status 200, got ${response.status}`);
    return await response.json();
  }
}

/** The longest time without a call between two calls that both came at or after `sinceMs` (epoch ms). */
export function longestGapMs(arrivals: readonly Arrival[], sinceMs: number, untilMs = Infinity): number {
  const within = arrivals.filter(({ wallMs }) => wallMs >= sinceMs && wallMs <= untilMs);
  const gaps = within
    .slice(1)
    .map(({ monotonicMs }, i) => monotonicMs - (within[i]?.monotonicMs ?? monotonicMs));
  // No two calls are no proof of no gap.
  return within.length < 2 ? Infinity : Math.max(...gaps);
}
