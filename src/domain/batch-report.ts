import type { Admission } from './batch.ts';
import type { Receipt } from './delivery.ts';
import { type ItemState, hasEnded, isParked } from './item.ts';

/** What a batch's report says of one position. */
export interface ReportRow {
  readonly page: number;
  /** in its page */
  readonly position: number;
  readonly key: string | null;
  readonly admission: Admission['admission'];
  /** where the key's item stands; null where this position has none */
  readonly state: ItemState | null;
  readonly receipt: Receipt | null;
  /** who discarded or resolved it */
  readonly by: string | null;
  /** why it was rejected, is in conflict, parked, or was discarded or resolved; whose a duplicate is */
  readonly reason: string | null;
}

/** A page that arrived, with what it says of the batch as a whole. */
export interface ReportPage {
  readonly page: number;
  /** how many items were published in it */
  readonly published: number;
  /** how many pages and items the batch has, as far as this page says */
  readonly pages: number | null;
  readonly total: number | null;
  readonly rows: readonly ReportRow[];
}

/** published = the admissions and what is absent; accepted = succeeded, parked, discarded, terminated and open. */
export interface ReportCounts {
  readonly published: number;
  readonly accepted: number;
  readonly duplicate: number;
  readonly conflict: number;
  readonly rejected: number;
  readonly pending: number;
  /** in pages that never arrived; those of a batch that told no total can't be counted, only their pages */
  readonly absent: number;
  readonly succeeded: number;
  readonly parked: number;
  readonly discarded: number;
  readonly terminated: number;
  readonly open: number;
}

/** Which pages there should be, and which there are. */
export interface ReportExtent {
  /** null: no page has said so yet */
  readonly pages: number | null;
  readonly arrived: number;
  readonly absentPages: readonly number[];
  /** null: no page has said so yet */
  readonly total: number | null;
}

export function extentOf(pages: readonly ReportPage[]): ReportExtent {
  const last = Math.max(-1, ...pages.map(({ page }) => page));
  const told = pages.find((page) => page.pages !== null)?.pages ?? null;
  const expected = Math.max(told ?? 0, last + 1);
  const arrived = new Set(pages.map(({ page }) => page));
  return {
    pages: told,
    arrived: arrived.size,
    absentPages: Array.from({ length: expected }, (_, page) => page).filter((page) => !arrived.has(page)),
    total: pages.find(({ total }) => total !== null)?.total ?? null,
  };
}

export function countReport(pages: readonly ReportPage[]): ReportCounts {
  const rows = pages.flatMap((page) => page.rows);
  const admitted = (admission: Admission['admission']) =>
    rows.filter((row) => row.admission === admission).length;
  const states = rows.flatMap(({ admission, state }) =>
    admission === 'accepted' && state !== null ? [state] : [],
  );
  const inState = (holds: (state: ItemState) => boolean) => states.filter(holds).length;
  const arrived = pages.reduce((sum, { published }) => sum + published, 0);
  const published = Math.max(arrived, extentOf(pages).total ?? 0);
  return {
    published,
    accepted: admitted('accepted'),
    duplicate: admitted('duplicate'),
    conflict: admitted('conflict'),
    rejected: admitted('rejected'),
    pending: admitted('pending'),
    absent: published - arrived,
    succeeded: inState((state) => state === 'succeeded'),
    parked: inState(isParked),
    discarded: inState((state) => state === 'discarded'),
    terminated: inState((state) => state === 'terminated'),
    open: inState((state) => !isParked(state) && !hasEnded(state)),
  };
}

/** Everything that keeps a report from adding up: nothing, unless something is broken. */
export function faultsOf(pages: readonly ReportPage[]): string[] {
  return [...faultsOfSums(countReport(pages)), ...faultsOfPages(pages), ...faultsOfKeys(pages)];
}

function faultsOfSums(counts: ReportCounts): string[] {
  const { published, accepted, duplicate, conflict, rejected, pending, absent } = counts;
  const answered = accepted + duplicate + conflict + rejected + pending + absent;
  const { succeeded, parked, discarded, terminated, open } = counts;
  const stands = succeeded + parked + discarded + terminated + open;
  return [
    ...(answered === published ? [] : [`published: ${published}, but ${answered} positions are answered`]),
    ...(stands === accepted ? [] : [`accepted: ${accepted}, but the states of ${stands} are known`]),
  ];
}

function faultsOfPages(pages: readonly ReportPage[]): string[] {
  const faults: string[] = [];
  for (const { page, published, rows } of pages)
    if (rows.length !== published || rows.some((row, at) => row.position !== at || row.page !== page))
      faults.push(`page ${page}: expected positions 0 to ${published - 1}, each once and in order`);
  return [...faults, ...faultsOfExtent(pages)];
}

/** What pages say of the whole must be one thing, and be what has arrived. */
function faultsOfExtent(pages: readonly ReportPage[]): string[] {
  const extent = extentOf(pages);
  const faults: string[] = [];
  for (const { page, pages: told, total } of pages) {
    if (told !== null && told !== extent.pages)
      faults.push(`page ${page}: says that there are ${told} pages, another says ${extent.pages}`);
    if (total !== null && total !== extent.total)
      faults.push(`page ${page}: says that there are ${total} items, another says ${extent.total}`);
    if (extent.pages !== null && page >= extent.pages)
      faults.push(`page ${page}: expected pages 0 to ${extent.pages - 1}`);
  }
  const arrived = pages.reduce((sum, { published }) => sum + published, 0);
  const complete = extent.pages !== null && extent.absentPages.length === 0;
  if (extent.total !== null && (arrived > extent.total || (complete && arrived < extent.total)))
    faults.push(`total: ${extent.total} items are told, and ${arrived} have arrived`);
  return faults;
}

/** One key is one operation: no two positions can both have been accepted under it. */
function faultsOfKeys(pages: readonly ReportPage[]): string[] {
  const seen = new Set<string>();
  const faults: string[] = [];
  for (const { page, position, key, admission } of pages.flatMap(({ rows }) => rows)) {
    if (admission !== 'accepted' || key === null) continue;
    if (seen.has(key)) faults.push(`page ${page}, position ${position}: "${key}" was accepted before`);
    seen.add(key);
  }
  return faults;
}
