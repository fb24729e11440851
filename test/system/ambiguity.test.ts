import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import type { ItemState } from '../../src/client.ts';
import { type Kind, KINDS, type KindsScene, openKinds } from './support/kinds.ts';
import type { LaneSetup } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';

/** What befalls an item, and what must become of it for each kind of upstream. */
interface Story {
  readonly lane: LaneSetup;
  readonly fault: FaultScript[string];
  readonly ends: Readonly<Record<Kind, [ItemState, { arrivals: number; effects: number }]>>;
}

const timeoutAfterCommit = { type: 'hang', effect: 'committed' } as const;
const found = ['succeeded', { arrivals: 1, effects: 1 }] satisfies Story['ends'][Kind];
const uncertain = ['uncertain', { arrivals: 1, effects: 1 }] satisfies Story['ends'][Kind];
const refused = ['dead', { arrivals: 1, effects: 0 }] satisfies Story['ends'][Kind];

const STORIES: Readonly<Record<string, Story>> = {
  'three timeouts after the commit': {
    lane: { budget: 5 },
    fault: [{ ...timeoutAfterCommit, times: 3 }],
    ends: {
      keys: ['succeeded', { arrivals: 4, effects: 1 }],
      keysAndLookup: ['succeeded', { arrivals: 4, effects: 1 }],
      lookup: found,
      neither: uncertain,
    },
  },
  'nothing but timeouts after the commit': {
    lane: { budget: 2 },
    fault: [{ ...timeoutAfterCommit, times: 'always' }],
    ends: {
      keys: ['uncertain', { arrivals: 2, effects: 1 }],
      keysAndLookup: ['succeeded', { arrivals: 2, effects: 1 }],
      lookup: found,
      neither: uncertain,
    },
  },
  'a timeout after the commit, then 404': {
    lane: {},
    fault: [timeoutAfterCommit, { type: 'status', status: 404, times: 'always' }],
    ends: {
      keys: ['uncertain', { arrivals: 2, effects: 1 }],
      keysAndLookup: ['succeeded', { arrivals: 2, effects: 1 }],
      lookup: found,
      neither: uncertain,
    },
  },
  'a key that the upstream has forgotten': {
    // A call may arrive a whole timeout after it left: within it, the window would be over.
    lane: { idempotency: { window: '2s' } },
    fault: [timeoutAfterCommit],
    ends: { keys: uncertain, keysAndLookup: found, lookup: found, neither: uncertain },
  },
  '409 for ever': {
    lane: { budget: 2 },
    fault: [{ type: 'status', status: 409, times: 'always' }],
    ends: {
      keys: ['uncertain', { arrivals: 2, effects: 0 }],
      // It can be asked, and says that nothing was done.
      keysAndLookup: ['dead', { arrivals: 2, effects: 0 }],
      lookup: refused,
      neither: refused,
    },
  },
  '422, as for a changed body': {
    lane: {},
    fault: [{ type: 'status', status: 422, times: 'always' }],
    ends: { keys: refused, keysAndLookup: refused, lookup: refused, neither: refused },
  },
};

const DOES: Readonly<Record<Kind, string>> = {
  keys: 'keys',
  keysAndLookup: 'keys and can be asked',
  lookup: 'no keys but can be asked',
  neither: 'no keys and can not be asked',
};

const temporal = useTemporal();

// Each story in lanes of its own: what a lane learns from one item would change what befalls the next.
suite(
  'what an upstream leaves in doubt is looked up, or asked about, and never guessed:',
  { concurrency: true },
  () => {
    let kinds: KindsScene;
    before(async () => {
      const named = Object.values(STORIES).map(({ lane }, n) => [`-${n}`, lane]);
      const faultsOf = (kind: Kind) =>
        Object.values(STORIES).map(({ fault }, n): [string, FaultScript[string]] => [keyOf(kind, n), fault]);
      kinds = await openKinds({
        temporal,
        lanes: Object.fromEntries(named),
        faults: (kind) => Object.fromEntries(faultsOf(kind)),
      });
      await kinds.scene.worker();
    });
    after(() => kinds?.end());

    for (const [n, [name, { ends }]] of Object.entries(STORIES).entries())
      for (const kind of KINDS) {
        const [state, happened] = ends[kind];
        test(`${name}, where it takes ${DOES[kind]}: ${state}`, async () => {
          const key = keyOf(kind, n);
          const { scene, sides } = kinds;
          await scene.publish(key, [{ key, payload: { n }, correlationId: key }], { lane: `${kind}-${n}` });
          await scene.settled(key);
          const upstream = sides.find((side) => side.kind === kind)?.upstream;
          const ofKey = (rows: readonly { key: string | null }[] = []) =>
            rows.filter((row) => row.key === key);
          assert.deepEqual(
            {
              arrivals: ofKey(upstream?.arrivals()).length,
              effects: ofKey(upstream?.effects()).length,
            },
            happened,
          );
          const record = await scene.record(key);
          assert.equal(record.state, state);
          if (state !== 'succeeded') assert.ok(record.reason, 'it says why');
        });
      }
  },
);

function keyOf(kind: Kind, n: number): string {
  return `${kind}:${n}`;
}
