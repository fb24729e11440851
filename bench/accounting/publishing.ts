import { isDeepStrictEqual } from 'node:util';
import { type Admission, publish } from '../../src/client.ts';
import type { Stage } from './stage.ts';
import { patiently } from './patiently.ts';
import type { LanePlan, PlannedBatch } from './plan.ts';

/** While every process that dispatches is away, a batch is durable and unanswered; then it is asked for again. */
const ANSWER_WITHIN_MS = 5_000;
const ASK_FOR_MS = 120_000;

/** A batch that has an answer at each position. */
export interface AnsweredBatch {
  readonly planned: PlannedBatch;
  readonly admissions: readonly Admission[];
}

/** Publishes a lane's batches one after another, so that it is known which of two positions takes a key. */
export async function publishLane(stage: Stage, { batches }: LanePlan): Promise<AnsweredBatch[]> {
  const answered: AnsweredBatch[] = [];
  for (const planned of batches) answered.push({ planned, admissions: await answers(stage, planned) });
  return answered;
}

/** Publishes a batch until every position is answered. */
export async function answers(
  { client }: Stage,
  { batchId, lane, positions }: PlannedBatch,
): Promise<Admission[]> {
  const batch = { batchId, lane, publisher: 'accounting', items: positions.map(({ item }) => item) };
  const giveUpAt = performance.now() + ASK_FOR_MS;
  for (;;) {
    const { admissions } = await patiently(() => publish(client, batch, { waitMs: ANSWER_WITHIN_MS }));
    if (admissions.every(({ admission }) => admission !== 'pending')) return admissions;
    if (performance.now() > giveUpAt) throw new Error(`${batchId}: not answered in ${ASK_FOR_MS} ms`);
  }
}

/** Positions that got another admission than they must. */
export function wrongAdmissions({ planned, admissions }: AnsweredBatch): string[] {
  return planned.positions.flatMap(({ admission }, position) => {
    const got = admissions[position];
    return got?.admission === admission
      ? []
      : [`${planned.batchId} at ${position}: expected ${admission}, got ${JSON.stringify(got)}`];
  });
}

/** Publishes a batch once more; says where its answers are others than before. */
export async function changedAnswers(
  stage: Stage,
  { planned, admissions }: AnsweredBatch,
): Promise<string[]> {
  const again = await answers(stage, planned);
  return admissions.flatMap((before, position) =>
    isDeepStrictEqual(lasting(before), lasting(again[position]))
      ? []
      : [`${planned.batchId} at ${position}: answered ${JSON.stringify(again[position])} when asked again`],
  );
}

/** The state that a duplicate carries is that of the moment. */
function lasting(admission: Admission | undefined): unknown {
  return admission?.admission === 'duplicate' ? { ...admission, state: undefined } : admission;
}
