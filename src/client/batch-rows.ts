import type { Client } from '@temporalio/client';
import pMap from 'p-map';
import type { Admission, BatchProgress, ItemEnding } from '../domain/batch.ts';
import type { ReportRow } from '../domain/batch-report.ts';
import { type ItemState, hasEnded } from '../domain/item.ts';
import { type ItemGlance, glanceAt } from './item-glance.ts';

/** Enough to hide the round trips, few enough for a small server. */
const LOOKUPS_AT_ONCE = 20;

/** Which page of which batch: the workflow that its items name as theirs. */
export interface PageName {
  readonly workflowId: string;
  readonly page: number;
}

/** One row per position, each with where its key's item stands today. */
export async function batchRows(
  client: Client,
  name: PageName,
  progress: BatchProgress,
): Promise<ReportRow[]> {
  const glances = new Map<string, Promise<ItemGlance | undefined>>();
  const glance = (key: string): Promise<ItemGlance | undefined> => {
    const known = glances.get(key) ?? glanceAt(client, key);
    glances.set(key, known);
    return known;
  };
  const rowOf = async (admission: Admission): Promise<ReportRow> => {
    const { position, key } = admission;
    const row = { page: name.page, position, key, admission: admission.admission };
    switch (admission.admission) {
      case 'accepted':
        return { ...row, ...(await standingOf(admission.key, position, name, progress, glance)) };
      case 'duplicate':
        return { ...row, ...(await standingOfHolder(admission, progress, glance)) };
      case 'conflict':
      case 'rejected':
        return { ...row, ...NO_ITEM, reason: admission.reason };
      case 'pending':
        return { ...row, ...NO_ITEM };
    }
  };
  return await pMap(progress.admissions, rowOf, { concurrency: LOOKUPS_AT_ONCE });
}

type Standing = Pick<ReportRow, 'state' | 'receipt' | 'by' | 'reason'>;
type Glance = (key: string) => Promise<ItemGlance | undefined>;

const NO_ITEM: Standing = { state: null, receipt: null, by: null, reason: null };

/** Of an item of this batch. What it told when it ended holds, also when Temporal has forgotten it since. */
async function standingOf(
  key: string,
  position: number,
  { workflowId }: PageName,
  { states, ends }: BatchProgress,
  glance: Glance,
): Promise<Standing> {
  const end = ends[key];
  if (end !== undefined) return standingAt(end);
  const told = states[key] ?? null;
  const seen = await glance(key);
  // Once it is forgotten, another batch may have its key.
  const ours = seen?.batch === workflowId && seen.position === position;
  return ours ? standingSeen(seen) : { ...NO_ITEM, state: told };
}

/** Of whoever holds a key that was taken: an item of this batch, or of another. */
async function standingOfHolder(
  admission: Extract<Admission, { admission: 'duplicate' }>,
  { ends }: BatchProgress,
  glance: Glance,
): Promise<Standing> {
  const { key, of, batch, state } = admission;
  const reason = of === undefined ? `brought by ${batch ?? 'another batch'}` : `stands at position ${of}`;
  const end = ends[key];
  if (end !== undefined) return { ...standingAt(end), reason };
  const seen = await glance(key);
  const ours = seen !== undefined && (batch === undefined || seen.batch === batch);
  return { ...(ours ? standingSeen(seen) : { ...NO_ITEM, state: forgotten(state) }), reason };
}

/** An item that was open when the answer was given, and of which nothing is known any more, is not open. */
function forgotten(state: ItemState): ItemState | null {
  return hasEnded(state) ? state : null;
}

function standingSeen({ state, ending, reason }: ItemGlance): Standing {
  return ending === null ? { ...NO_ITEM, state, reason } : standingAt(ending);
}

function standingAt(ending: ItemEnding): Standing {
  switch (ending.state) {
    case 'succeeded': {
      const { state, receipt } = ending;
      return { state, receipt, by: receipt.by, reason: receipt.reason };
    }
    case 'discarded': {
      const { state, by, reason } = ending;
      return { state, receipt: null, by, reason };
    }
  }
}
