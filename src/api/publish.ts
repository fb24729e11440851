import type { Client } from '@temporalio/client';
import { type Admission, type Published, publish } from '../client.ts';
import type { ReportRow } from '../domain/batch-report.ts';
import type { Caller } from './caller.ts';
import { ANSWERED_WITHIN_MS } from './routes/context.ts';

/** All that is told of a key whose holder is not to be known. */
const TAKEN = 'key: taken';

/** However short a caller wants to wait: Temporal must have the batch before we say that it has. */
const STORED_WITHIN_MS = 1_000;

interface Asked {
  readonly batchId: string;
  readonly lane: string;
  readonly items: unknown[];
}

/**
 * Publishes a batch in a caller's name, and waits for its admissions. A second request joins the first.
 *
 * @throws ProblemError, and what `publish` throws
 */
export async function publishFor(
  client: Client,
  caller: Caller,
  { batchId, lane, items }: Asked,
  waitMs: number,
): Promise<Published> {
  caller.mustBeAllowedTo('publish', lane);
  const batch = { batchId, lane, publisher: caller.name, items };
  const published = await client.withDeadline(Date.now() + waitMs + ANSWERED_WITHIN_MS, () =>
    publish(client, batch, { waitMs: waitMs === 0 ? 0 : Math.max(waitMs, STORED_WITHIN_MS) }),
  );
  return { ...published, admissions: shownTo(caller, lane, published.admissions) };
}

export function locationOf(batchId: string): string {
  return `/v1/batches/${encodeURIComponent(batchId)}`;
}

/**
 * What a caller who may publish, but not read, would learn of others' items stays hidden: a duplicate is a conflict to
 * it, and whose the key is remains untold.
 */
export function shownTo(caller: Caller, lane: string, admissions: readonly Admission[]): Admission[] {
  const mayReadLane = caller.may('read', lane);
  return admissions.map((admission) => {
    if (admission.admission === 'duplicate' && !mayReadLane && !isOwn(admission, admissions))
      return conflict(admission);
    if (admission.admission === 'conflict' && !mayReadHolder(caller)) return conflict(admission);
    return admission;
  });
}

/** The same of what is told of a batch later, to a caller who may read in its lane. */
export function rowsShownTo(caller: Caller, rows: readonly ReportRow[]): ReportRow[] {
  return rows.map((row) =>
    row.admission === 'conflict' && !mayReadHolder(caller) ? { ...row, reason: TAKEN } : row,
  );
}

/** A key in conflict may be held in any lane. */
function mayReadHolder(caller: Caller): boolean {
  return caller.mayEverywhere('read');
}

/** A later position of a key that this very batch brought. */
function isOwn({ of }: { of?: number }, admissions: readonly Admission[]): boolean {
  return of !== undefined && admissions.find(({ position }) => position === of)?.admission === 'accepted';
}

function conflict({ position, key, of }: { position: number; key: string; of?: number }): Admission {
  const whose = of === undefined ? {} : { of };
  return { position, key, admission: 'conflict', reason: TAKEN, ...whose };
}
