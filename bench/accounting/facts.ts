import pMap from 'p-map';
import {
  type BatchReport,
  batchReport,
  itemRecord,
  type ItemState,
  NotFoundError,
} from '../../src/client.ts';
import { auditOf, violationsIn } from '../fleet/audit.ts';
import { patiently } from './patiently.ts';
import { type AnsweredBatch, changedAnswers, wrongAdmissions } from './publishing.ts';
import type { Stage } from './stage.ts';

const ASKED_AT_ONCE = 8;

/** An item that was accepted. */
export interface ItemFact {
  readonly key: string;
  readonly lane: string;
  /** null: onelane knows nothing of it */
  readonly state: ItemState | null;
}

/** Something that an upstream did. */
export interface EffectFact {
  readonly key: string;
  readonly lane: string;
}

/** What is found when all has come to rest, each by the word of whoever knows it best. */
export interface Facts {
  readonly batches: readonly BatchReport[];
  readonly items: readonly ItemFact[];
  readonly effects: readonly EffectFact[];
  /** answers to a publish that are others than they must be, or others than they were */
  readonly wrongAnswers: readonly string[];
  /** what onelane says, and what an upstream answers when it is asked for it by key */
  readonly contradictions: readonly string[];
  /** what `onelane audit` says against the send logs of all workers that there ever were */
  readonly audit: readonly string[];
  /** what each upstream saw of its quota and of calls open at once that may not be */
  readonly doors: readonly string[];
}

export async function gatherFacts(
  stage: Stage,
  answered: readonly AnsweredBatch[],
  contradictions: readonly string[],
): Promise<Facts> {
  const { client } = stage;
  const accepted = answered.flatMap(({ planned: { lane }, admissions }) =>
    admissions.flatMap(({ key, admission }) => (admission === 'accepted' ? [{ key, lane }] : [])),
  );
  return {
    batches: await inTurn(answered, ({ planned }) => patiently(() => batchReport(client, planned.batchId))),
    items: await inTurn(accepted, async ({ key, lane }) => ({ key, lane, state: await stateOf(stage, key) })),
    effects: (await inTurn(stage.upstreams, effectsOf)).flat(),
    wrongAnswers: [
      ...answered.flatMap(wrongAdmissions),
      ...(await inTurn(answered, (batch) => changedAnswers(stage, batch))).flat(),
    ],
    contradictions,
    audit: await auditFaults(stage.replicas.sendLogs),
    doors: (await inTurn(stage.upstreams, doorFaults)).flat(),
  };
}

function inTurn<T, Found>(of: readonly T[], look: (one: T) => Promise<Found>): Promise<Found[]> {
  return pMap(of, look, { concurrency: ASKED_AT_ONCE });
}

async function stateOf({ client }: Stage, key: string): Promise<ItemState | null> {
  try {
    return (await patiently(() => itemRecord(client, key))).state;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

async function effectsOf({ kind: { lane }, door }: Stage['upstreams'][number]): Promise<EffectFact[]> {
  return (await door.effects()).map(({ key }) => ({ key, lane }));
}

async function auditFaults(sendLogs: readonly string[]): Promise<string[]> {
  const audit = await auditOf(sendLogs);
  const says = [...violationsIn(audit), ...audit.doctored.map((log) => `doctored: ${JSON.stringify(log)}`)];
  return audit.clean || says.length > 0 ? says : ['not clean, and it does not say why'];
}

async function doorFaults({ kind: { lane }, door }: Stage['upstreams'][number]): Promise<string[]> {
  const { maxInAnyWindow, maxInFlight, status429, scripted429 } = await door.stats();
  const { requests } = door.quota;
  return [
    ...(maxInAnyWindow > requests ? [`${lane}: ${maxInAnyWindow} calls in one window of ${requests}`] : []),
    ...(maxInFlight > 1 ? [`${lane}: ${maxInFlight} calls open at once`] : []),
    ...(status429 > scripted429 ? [`${lane}: over its quota ${status429 - scripted429} times`] : []),
  ];
}
