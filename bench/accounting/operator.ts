import pMap from 'p-map';
import { ItemRefusedError, batchReport, operateItem, reconcileItems } from '../../src/client.ts';
import { drain } from './drain.ts';
import { patiently } from './patiently.ts';
import type { PlannedBatch } from './plan.ts';
import type { Stage } from './stage.ts';

/** Who does in an accounting what is left to a person. */
export const OPERATOR = { by: 'accounting', reason: 'looked into it' };

/** After so many redrives, what parks again is given up, or closed as found done. */
const REDRIVES = 2;
const ORDERS_AT_ONCE = 5;
const SUCCEEDED_ASKED_ABOUT = 40;

/** What was done, and how often. */
export interface Operated {
  /** uncertain items that the upstream was asked about, and whose answer settled them */
  settled: number;
  redriven: number;
  /** redriven although nobody could be asked, after the upstream's own books were looked into */
  redrivenAtRisk: number;
  resolved: number;
  discarded: number;
  /** where onelane and an upstream's lookup contradict each other */
  contradictions: string[];
}

interface Parked {
  readonly key: string;
  readonly lane: string;
}

/** Drains, reconciles, and decides about what is parked, until nothing is. */
export async function operate(stage: Stage, batches: readonly PlannedBatch[]): Promise<Operated> {
  const operated = {
    settled: 0,
    redriven: 0,
    redrivenAtRisk: 0,
    resolved: 0,
    discarded: 0,
    contradictions: [],
  };
  // One round more than there are redrives: what is redriven at risk parks once more at most.
  for (let round = 0; round <= REDRIVES + 1; round++) {
    await drain(stage, batches);
    await reconcile(stage, operated);
    const parked = (await pMap(batches, (batch) => parkedOf(stage, batch))).flat();
    if (parked.length === 0) break;
    await pMap(parked, (item) => decide(stage, item, round, operated), { concurrency: ORDERS_AT_ONCE });
  }
  await drain(stage, batches);
  return operated;
}

async function reconcile({ client }: Stage, operated: Operated): Promise<void> {
  const sample = { size: SUCCEEDED_ASKED_ABOUT, seed: 'accounting' };
  const results = await patiently(() => reconcileItems(client, { by: OPERATOR.by, sample }));
  for (const result of results) {
    if (result.kind === 'settled') operated.settled++;
    if (result.kind === 'contradicts') operated.contradictions.push(JSON.stringify(result));
  }
}

async function parkedOf({ client }: Stage, { batchId, lane }: PlannedBatch): Promise<Parked[]> {
  const { rows } = await patiently(() => batchReport(client, batchId));
  return rows.flatMap(({ key, admission, state }) =>
    admission === 'accepted' && key !== null && (state === 'dead' || state === 'uncertain')
      ? [{ key, lane }]
      : [],
  );
}

/** Tries it again; where that is refused, or was done often enough, looks into the upstream's own books. */
async function decide(stage: Stage, item: Parked, round: number, operated: Operated): Promise<void> {
  const { client } = stage;
  if (round < REDRIVES && (await redrive(stage, item, round, false))) {
    operated.redriven++;
    return;
  }
  const effects = await patiently(() => stage.upstreamOf(item.lane).door.effects());
  const effect = effects.find(({ key }) => key === item.key);
  if (effect !== undefined) {
    const receipt = { upstreamId: effect.id };
    await patiently(() => operateItem.resolve(client, item.key, { ...OPERATOR, receipt }));
    operated.resolved++;
  } else if (round < REDRIVES && (await redrive(stage, item, round, true))) operated.redrivenAtRisk++;
  else {
    await patiently(() => operateItem.discard(client, item.key, OPERATOR));
    operated.discarded++;
  }
}

/** False: refused. */
async function redrive(
  { client }: Stage,
  { key }: Parked,
  round: number,
  acceptRisk: boolean,
): Promise<boolean> {
  const asked = { by: OPERATOR.by, reason: `round ${round}`, acceptRisk };
  try {
    await patiently(() => operateItem.redrive(client, key, asked));
    return true;
  } catch (error) {
    if (error instanceof ItemRefusedError) return false;
    throw error;
  }
}
