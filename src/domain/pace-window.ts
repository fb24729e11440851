import { z } from 'zod';

/** Fewer pairs than this are exact; more calls are grouped, so that a heartbeat stays small. */
const MOST_GROUPS = 64;

/**
 * A pace's recent calls, as it moves with the lease from holder to holder. Ages instead of instants, since
 * hosts' clocks differ.
 */
export const PaceWindowSchema = z.object({
  /**
   * [age in ms when the window was taken, number of calls], oldest first. An age below 0 is a call that may
   * still arrive, that much later. Rounded against us: no call is older here than it is.
   */
  ages: z.array(z.tuple([z.number(), z.int()])),
  requests: z.int(),
  perMs: z.number(),
  burst: z.int(),
  timeoutMs: z.number(),
});
export type PaceWindow = Readonly<z.infer<typeof PaceWindowSchema>>;

/** From when on each call of a window counts, oldest first, if it was taken at `takenAtMs`. */
export function callsIn(window: PaceWindow, takenAtMs: number): number[] {
  return window.ages.flatMap(([age, count]) => Array.from({ length: count }, () => takenAtMs - age));
}

/** Neighbours share the age of the youngest among them. */
export function groupAges(ages: readonly number[]): [age: number, count: number][] {
  const oldestFirst = [...ages].sort((a, b) => b - a);
  const size = Math.max(1, Math.ceil(oldestFirst.length / MOST_GROUPS));
  const groups: [number, number][] = [];
  for (let from = 0; from < oldestFirst.length; from += size) {
    const group = oldestFirst.slice(from, from + size);
    const youngest = group.at(-1);
    if (youngest !== undefined) groups.push([youngest, group.length]);
  }
  return groups;
}
