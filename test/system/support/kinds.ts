import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FaultScript } from '../../../src/dev/upstream/faults.ts';
import type { Mode } from '../../../src/dev/upstream/records.ts';
import { z } from 'zod';
import { startUpstream, type Upstream } from '../../../src/dev/upstream/server.ts';
import { Proxy } from './proxy.ts';
import { type LaneSetup, openScene, type Scene } from './scene.ts';
import type { Temporal } from './temporal.ts';
import { until } from './until.ts';

/** The kinds of upstream that there are, by what they do about repeated keys. Each names its lane, too. */
export const KINDS = ['keys', 'keysAndLookup', 'lookup', 'neither'] as const;
export type Kind = (typeof KINDS)[number];

const LOOKUP = { path: '/effects/{key}' };
const TRAITS: Readonly<Record<Kind, { mode: Mode; lane: LaneSetup }>> = {
  keys: { mode: 'keys', lane: {} },
  keysAndLookup: { mode: 'keys', lane: { lookup: LOOKUP } },
  lookup: { mode: 'lookup', lane: { idempotency: 'none', lookup: LOOKUP } },
  neither: { mode: 'neither', lane: { idempotency: 'none' } },
};

/** An upstream of one kind, and the way to it. */
export interface Side {
  readonly kind: Kind;
  readonly upstream: Upstream;
  readonly way: Proxy;
}

export interface KindsSetup {
  /** with a namespace of its own: what plays beside it must not run its workflows */
  readonly temporal: Temporal;
  /** what every lane has */
  readonly lane?: LaneSetup;
  /** by what is put behind the kind in their names: lanes of every kind; one with nothing there when absent */
  readonly lanes?: Readonly<Record<string, LaneSetup>>;
  /** what befalls the keys of a kind */
  readonly faults?: (kind: Kind) => FaultScript;
}

/** A scene with an upstream of each kind, side by side in its workers, where every way out can be cut. */
export interface KindsScene {
  readonly scene: Scene;
  readonly sides: readonly Side[];
  readonly wayToTemporal: Proxy;
  readonly end: () => Promise<void>;
}

/** Whoever opens it ends it. */
export async function openKinds(setup: KindsSetup): Promise<KindsScene> {
  const scene = await openScene({ temporal: setup.temporal, upstream: null, lanes: {} });
  const ends = [() => scene.end()];
  // The scene last: its folder has the upstreams' files.
  const end = async () => {
    for (const one of ends.toReversed()) await one();
  };
  try {
    const wayToTemporal = await Proxy.start(setup.temporal.address);
    ends.push(() => wayToTemporal.close());
    const sides: Side[] = [];
    for (const kind of KINDS) {
      const side = await openSide(kind, scene.folder, setup.faults?.(kind) ?? {});
      ends.push(() => closeSide(side));
      sides.push(side);
    }
    await scene.writeLanes(lanesOf(sides, setup));
    return { scene, sides, wayToTemporal, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Plays a test in such a scene, and clears it away however the test ends. */
export async function withKinds(
  setup: KindsSetup,
  play: (kinds: KindsScene) => Promise<void>,
): Promise<void> {
  const kinds = await openKinds(setup);
  try {
    await play(kinds);
  } finally {
    await kinds.end();
  }
}

async function openSide(kind: Kind, folder: string, faults: FaultScript): Promise<Side> {
  const upstream = await startUpstream({
    file: join(folder, `${kind}.db`),
    mode: TRAITS[kind].mode,
    quota: { requests: 10_000, perMs: 1_000 },
    faults,
  });
  return { kind, upstream, way: await Proxy.start(`127.0.0.1:${upstream.port}`) };
}

async function closeSide({ way, upstream }: Side): Promise<void> {
  await way.close();
  await upstream.close();
}

function lanesOf(
  sides: readonly Side[],
  { lane, lanes = { '': {} } }: KindsSetup,
): Record<string, LaneSetup> {
  const named = sides.flatMap(({ kind, way }) =>
    Object.entries(lanes).map(([name, own]): [string, LaneSetup] => [
      kind + name,
      // What its kind can't do, no lane of it can.
      { ...lane, ...own, ...TRAITS[kind].lane, baseUrl: `http://${way.address}` },
    ]),
  );
  return Object.fromEntries(named);
}

/** Waits until something is so on every side. */
export async function onEverySide(
  { sides }: KindsScene,
  what: string,
  holds: (side: Side) => boolean | Promise<boolean>,
): Promise<void> {
  await until(`on every side: ${what}`, async () =>
    (await Promise.all(sides.map(async (side) => holds(side)))).every((held) => held),
  );
}

const sendLogLine = z.object({ kind: z.string(), key: z.string().optional() });

/** The keys of the calls in a worker's send log: those that have left, or those whose end it knows. */
export async function loggedCalls(
  { scene }: KindsScene,
  sendLog: string,
  which: 'left' | 'call',
): Promise<string[]> {
  const text = await readFile(join(scene.folder, sendLog), 'utf8');
  // What is behind the last line feed is still being written.
  const lines = text.split('\n').slice(0, -1);
  return lines
    .map((line) => sendLogLine.parse(JSON.parse(line)))
    .flatMap(({ kind, key }) => (kind === which && key !== undefined ? [key] : []));
}
