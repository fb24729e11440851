import type { PublishedItem } from '../../domain/item.ts';
import { type Fault, faultKind, faultSchema, type FaultScript } from '../upstream/faults.ts';
import { type DemoFault, FAULTS, REFUSAL } from './faults.ts';
import { type Random, randomFrom } from './random.ts';

/** What a batch of 60 comes to, whatever the seed. */
export const EXPECTED = {
  accepted: 57,
  duplicate: 1,
  conflict: 1,
  rejected: 1,
  succeeded: 56,
  dead: 1,
  uncertain: 0,
} as const;

/** A release to which the upstream does something else than it should. */
export interface Story {
  readonly key: string;
  readonly title: string;
  /** the fault's name in the upstream's log */
  readonly kind: string;
  /** how long its Retry-After asks to stay away, in milliseconds; 0 where it asks for nothing usable */
  readonly askedMs: number;
}

/** What is published, and what the upstream does about it. */
export interface Scenario {
  readonly seed: number;
  readonly items: readonly PublishedItem[];
  /** in the order in which the faults are listed, those that chance brought again last */
  readonly stories: readonly Story[];
  readonly script: FaultScript;
}

const FIRST_PACKAGE = 1801;
/** How many faults chance brings besides those of every run: from 2 to 4. */
const RECURRING = { least: 2, most: 4 };

/**
 * The seed decides which releases meet which fault, which faults come again, and where the duplicate, the
 * conflict and the invalid item stand.
 *
 * @param seed a whole number from 0 to 2^32 - 1
 * @param run part of every key, so that no run meets another's items
 */
export function scenarioFrom(seed: number, run: string): Scenario {
  const random = randomFrom(seed);
  const releases = Array.from({ length: EXPECTED.accepted }, (_, i) => release(i, random, run));
  const recurring = RECURRING.least + random.below(RECURRING.most - RECURRING.least + 1);
  const again = random.pick(
    FAULTS.filter(({ recurs }) => recurs),
    recurring,
  );
  const faults = [...FAULTS, REFUSAL, ...again];
  const places = random.pick(apart(releases.length, faults.length, random), faults.length);
  const cast = faults.map((fault, i) => ({ fault, key: keyAt(releases, places[i]) }));
  return {
    seed,
    items: withOddOnes(releases, random),
    stories: cast.map(({ fault, key }) => storyOf(fault, key)),
    script: Object.fromEntries(cast.map(({ fault, key }) => [key, [fault.fault]])),
  };
}

interface Release extends PublishedItem {
  readonly key: string;
  readonly payload: { readonly package: string; readonly version: number; readonly channel: string };
}

function release(index: number, random: Random, run: string): Release {
  const name = `pkg-${FIRST_PACKAGE + index}`;
  const version = 1 + random.below(9);
  return {
    key: `release:${name}:v${version}:${run}`,
    payload: { package: name, version, channel: 'stable' },
  };
}

/**
 * `count` places, no two of them neighbours: a well-behaved release between two faults lets the lane recover,
 * else a seed with all throttles in a row would back off for half a minute.
 */
function apart(length: number, count: number, random: Random): number[] {
  const gaps = Array.from({ length: length - count + 1 }, (_, i) => i);
  return random
    .pick(gaps, count)
    .sort((a, b) => a - b)
    .map((place, i) => place + i);
}

/** Adds the one that is published twice, the one whose key is taken, and the one that is no item at all. */
function withOddOnes(releases: readonly Release[], random: Random): PublishedItem[] {
  const [twice, taken, model] = random.pick(releases, 3);
  if (!twice || !taken || !model) throw new RangeError('expected at least three releases');
  const items: PublishedItem[] = [...releases];
  const insertAfter = (original: Release, odd: PublishedItem) => {
    const first = items.indexOf(original) + 1;
    items.splice(first + random.below(items.length - first + 1), 0, odd);
  };
  insertAfter(twice, { ...twice });
  insertAfter(taken, { ...taken, payload: { ...taken.payload, channel: 'beta' } });
  insertAfter(model, { key: `${model.key}:later`, payload: model.payload, notBefore: 'tomorrow' });
  return items;
}

function storyOf({ title, fault }: DemoFault, key: string): Story {
  const parsed = faultSchema.parse(fault);
  return { key, title, kind: faultKind(parsed), askedMs: askedMs(parsed) };
}

function askedMs(fault: Fault): number {
  if (fault.type !== 'throttle' || fault.retryAfter === undefined) return 0;
  const { retryAfter } = fault;
  return 1000 * (typeof retryAfter === 'string' ? Number(retryAfter) : retryAfter.inSeconds);
}

function keyAt(releases: readonly Release[], place: number | undefined): string {
  const found = place === undefined ? undefined : releases[place];
  if (found === undefined) throw new RangeError(`expected more releases than faults, got ${releases.length}`);
  return found.key;
}
