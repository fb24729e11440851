import assert from 'node:assert/strict';
import { COMPLETIONS, GrpcGate } from '../../../bench/fleet/grpc-gate.ts';
import { readHistory } from '../../../src/client/history.ts';
import { describeOrUndefined } from '../../../src/client/key-holder.ts';
import type { FaultScript } from '../../../src/dev/upstream/faults.ts';
import { type Kind, type KindsScene, loggedCalls, onEverySide } from './kinds.ts';
import type { LaneSetup } from './scene.ts';
import type { Temporal } from './temporal.ts';
import { until } from './until.ts';

/** A point in an item's way at which the process that acts is killed. It is made from outside, on every side at once. */
export interface Cut {
  readonly name: string;
  readonly lane?: LaneSetup;
  /** what the item meets first */
  readonly fault?: FaultScript[string];
  /** Starts workers, publishes, and kills whoever acts on the item when it is there. */
  readonly kill: (stage: CutStage) => Promise<void>;
  readonly ends: Readonly<Record<Kind, ItemEnd>>;
}

export interface CutStage extends KindsScene {
  readonly temporal: Temporal;
  /** publishes one item on every side */
  readonly publish: () => Promise<void>;
}

/** What must have become of the item at last. */
interface ItemEnd {
  readonly state: 'succeeded' | 'uncertain';
  readonly arrivals: number;
  readonly effects: number;
  /** how it was found done; null: it was not */
  readonly found: 'answer' | 'replay' | 'lookup' | null;
}

export function keyOf(kind: Kind): string {
  return `${kind}:acted-on`;
}

const DONE: ItemEnd = { state: 'succeeded', arrivals: 1, effects: 1, found: 'answer' };
const DONE_ONCE = { keys: DONE, keysAndLookup: DONE, lookup: DONE, neither: DONE };
/** The call got lost, which only the upstream can know. */
const NEVER_ARRIVED = {
  ...DONE_ONCE,
  neither: { state: 'uncertain', arrivals: 0, effects: 0, found: null },
} as const;
/** It was done, and nobody was told. */
const DONE_UNTOLD = {
  keys: { ...DONE, arrivals: 2, found: 'replay' },
  keysAndLookup: { ...DONE, arrivals: 2, found: 'replay' },
  lookup: { ...DONE, found: 'lookup' },
  neither: { state: 'uncertain', arrivals: 1, effects: 1, found: null },
} as const;

/** Shorter than a lane's timeout, longer than it takes until every side is there. */
const IN_FLIGHT_MS = 3_500;
const SEND_LOG = 'sent.ndjson';

export const CUTS: readonly Cut[] = [
  {
    name: 'before the send',
    // A worker begins with a full window behind it, so that the first call waits for a whole `per`.
    lane: { limit: { requests: 1, per: '5s' } },
    kill: async (stage) => {
      const worker = await stage.scene.worker();
      await stage.publish();
      await onEverySide(
        stage,
        'the item is in the slot',
        async ({ kind }) => (await stage.scene.record(keyOf(kind))).sender !== null,
      );
      await worker.end('SIGKILL');
      for (const { upstream } of stage.sides) assert.deepEqual(upstream.arrivals(), []);
    },
    ends: DONE_ONCE,
  },
  {
    name: 'after the send, with the call on its way',
    kill: async (stage) => {
      for (const { way } of stage.sides) way.cut({ toServer: true, fromServer: false });
      const worker = await stage.scene.worker({ sendLog: SEND_LOG });
      await stage.publish();
      await untilLogged(stage, 'left');
      await worker.end('SIGKILL');
    },
    ends: NEVER_ARRIVED,
  },
  {
    name: 'after the send, with the effect still to come',
    fault: [{ type: 'delay', ms: IN_FLIGHT_MS, effect: 'none' }],
    kill: async (stage) => {
      const worker = await stage.scene.worker();
      await stage.publish();
      await onEverySide(stage, 'the call has arrived', ({ upstream }) => upstream.arrivals().length === 1);
      await worker.end('SIGKILL');
      for (const { upstream } of stage.sides) assert.deepEqual(upstream.effects(), []);
    },
    ends: DONE_UNTOLD,
  },
  {
    name: 'after the effect',
    fault: [{ type: 'delay', ms: IN_FLIGHT_MS, effect: 'committed' }],
    kill: async (stage) => {
      const worker = await stage.scene.worker();
      await stage.publish();
      await untilDone(stage);
      await worker.end('SIGKILL');
      for (const { upstream } of stage.sides) assert.equal(upstream.arrivals()[0]?.status, null);
    },
    ends: DONE_UNTOLD,
  },
  {
    name: 'after the response, with the response on its way',
    kill: async (stage) => {
      for (const { way } of stage.sides) way.cut({ toServer: false, fromServer: true });
      const worker = await stage.scene.worker();
      await stage.publish();
      await onEverySide(
        stage,
        'the upstream has answered',
        ({ upstream }) => upstream.arrivals()[0]?.status === 201,
      );
      await worker.end('SIGKILL');
    },
    ends: DONE_UNTOLD,
  },
  {
    name: 'after the response, with Temporal still to be told',
    fault: [{ type: 'delay', ms: IN_FLIGHT_MS, effect: 'committed' }],
    kill: async (stage) => {
      const { scene, wayToTemporal } = stage;
      const worker = await scene.worker({ address: wayToTemporal.address, sendLog: SEND_LOG });
      await stage.publish();
      await untilDone(stage);
      wayToTemporal.cut({ toServer: true, fromServer: false });
      await untilLogged(stage, 'call');
      await worker.end('SIGKILL');
    },
    ends: DONE_UNTOLD,
  },
  {
    name: 'after the response, with all told to Temporal but the end',
    fault: [{ type: 'delay', ms: IN_FLIGHT_MS, effect: 'committed' }],
    kill: async (stage) => {
      const gate = await GrpcGate.open(stage.temporal.address);
      try {
        const address = `127.0.0.1:${gate.port}`;
        const worker = await stage.scene.worker({ address, sendLog: SEND_LOG });
        await stage.publish();
        await untilDone(stage);
        gate.hold(COMPLETIONS);
        await untilLogged(stage, 'call');
        await until('every end is held back', () => gate.held >= stage.sides.length);
        await worker.end('SIGKILL');
      } finally {
        await gate.close();
      }
    },
    ends: DONE_UNTOLD,
  },
  {
    name: 'after the acknowledgment',
    fault: [{ type: 'delay', ms: IN_FLIGHT_MS, effect: 'committed' }],
    kill: async (stage) => {
      const { scene, temporal } = stage;
      const dispatch = await scene.worker({ roles: ['dispatch'] });
      const lanes = await scene.worker({ roles: ['lanes'] });
      await stage.publish();
      await untilDone(stage);
      // With nobody to go on with the item, what the call became is known to the server alone.
      await dispatch.end('SIGKILL');
      await onEverySide(stage, 'Temporal knows of the answer', async ({ kind }) => {
        const description = await describeOrUndefined(temporal.client, keyOf(kind));
        assert.equal(description?.status.name, 'RUNNING');
        const { activityResults } = await readHistory(temporal.client, keyOf(kind), description.runId);
        return activityResults.some(({ activityType }) => activityType === 'callUpstream');
      });
      await lanes.end('SIGKILL');
    },
    ends: DONE_ONCE,
  },
  {
    name: 'after the record',
    kill: async (stage) => {
      const worker = await stage.scene.worker();
      await stage.publish();
      await onEverySide(
        stage,
        'the item has ended',
        async ({ kind }) =>
          (await describeOrUndefined(stage.temporal.client, keyOf(kind)))?.status.name === 'COMPLETED',
      );
      await worker.end('SIGKILL');
    },
    ends: DONE_ONCE,
  },
];

async function untilDone(stage: CutStage): Promise<void> {
  await onEverySide(stage, 'the upstream has done it', ({ upstream }) => upstream.effects().length === 1);
}

async function untilLogged(stage: CutStage, which: 'left' | 'call'): Promise<void> {
  await onEverySide(stage, `the send log has its ${which}`, async ({ kind }) =>
    (await loggedCalls(stage, SEND_LOG, which)).includes(keyOf(kind)),
  );
}
