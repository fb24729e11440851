import pMap from 'p-map';
import { batchStatus, laneStatus, operateLane } from '../../src/client.ts';
import { until } from '../fleet/until.ts';
import { OPERATOR } from './operator.ts';
import { patiently } from './patiently.ts';
import type { PlannedBatch } from './plan.ts';
import type { Stage } from './stage.ts';

const DRAINED_WITHIN_MS = 180_000;
const LOOK_EVERY_MS = 500;
const ASKED_AT_ONCE = 5;

/** Waits until nothing is open but what is parked. Lanes that pause themselves, e.g. on 401, are resumed. */
export async function drain(stage: Stage, batches: readonly PlannedBatch[]): Promise<void> {
  const openIn = async ({ batchId }: PlannedBatch) =>
    (await patiently(() => batchStatus(stage.client, batchId))).counts.open;
  await until(
    'every item has ended or parked',
    DRAINED_WITHIN_MS,
    async () => {
      await Promise.all(stage.upstreams.map(({ kind }) => resume(stage, kind.lane)));
      const open = await pMap(batches, openIn, { concurrency: ASKED_AT_ONCE });
      return open.every((count) => count === 0);
    },
    LOOK_EVERY_MS,
  );
}

async function resume({ client }: Stage, lane: string): Promise<void> {
  const { record } = await patiently(() => laneStatus(client, lane));
  if (record?.paused) await patiently(() => operateLane.resume(client, lane, OPERATOR));
}
