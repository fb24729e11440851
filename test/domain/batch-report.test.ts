import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  type ReportPage,
  type ReportRow,
  countReport,
  extentOf,
  faultsOf,
} from '../../src/domain/batch-report.ts';
import { ITEM_STATES, type ItemState, hasEnded, isParked } from '../../src/domain/item.ts';

const ADMISSIONS = ['accepted', 'duplicate', 'conflict', 'rejected', 'pending'] as const;

interface Fate {
  readonly admission: ReportRow['admission'];
  readonly state: ItemState;
}
const fate: fc.Arbitrary<Fate> = fc.record({
  admission: fc.constantFrom(...ADMISSIONS),
  state: fc.constantFrom(...ITEM_STATES),
});
/** What became of each item, page by page, and which pages arrived: the last of them, and it tells the extent. */
const batch = fc
  .array(fc.record({ arrived: fc.boolean(), fates: fc.array(fate, { minLength: 1, maxLength: 6 }) }), {
    maxLength: 5,
  })
  .chain((earlier) =>
    fc.array(fate, { minLength: 1, maxLength: 6 }).map((fates) => [...earlier, { arrived: true, fates }]),
  );
type BatchFates = typeof batch extends fc.Arbitrary<infer T> ? T : never;

function reportOf(fates: BatchFates): ReportPage[] {
  const total = fates.reduce((sum, page) => sum + page.fates.length, 0);
  return fates.flatMap((one, page) => {
    if (!one.arrived) return [];
    const isLast = page === fates.length - 1;
    const rows = one.fates.map((given, position) => rowOf(page, position, given));
    const told = isLast ? { pages: fates.length, total } : { pages: null, total: null };
    return [{ page, published: rows.length, rows, ...told }];
  });
}

function rowOf(page: number, position: number, { admission, state }: Fate): ReportRow {
  return {
    page,
    position,
    key: `k:${page}:${position}`,
    admission,
    // Duplicates have the state of the item that is there already; it must not be counted here.
    state: admission === 'accepted' || admission === 'duplicate' ? state : null,
    receipt: null,
    by: null,
    reason: null,
  };
}

function done(page: number, position: number): ReportRow {
  return rowOf(page, position, { admission: 'accepted', state: 'succeeded' });
}

describe('the report of a batch', () => {
  it('adds up, whatever became of its items and whichever of its pages arrived', () => {
    fc.assert(
      fc.property(batch, (fates) => {
        const pages = reportOf(fates);
        assert.deepEqual(faultsOf(pages), []);
        const counts = countReport(pages);
        const { published, accepted, duplicate, conflict, rejected, pending, absent } = counts;
        assert.equal(published, accepted + duplicate + conflict + rejected + pending + absent);
        const { succeeded, parked, discarded, terminated, open } = counts;
        assert.equal(accepted, succeeded + parked + discarded + terminated + open);

        const all = fates.flatMap((page) => page.fates);
        const came = fates.flatMap((page) => (page.arrived ? page.fates : []));
        assert.equal(published, all.length);
        assert.equal(absent, all.length - came.length);
        const states = came.flatMap(({ admission, state }) => (admission === 'accepted' ? [state] : []));
        assert.equal(accepted, states.length);
        assert.equal(parked, states.filter(isParked).length);
        assert.equal(open, states.filter((state) => !isParked(state) && !hasEnded(state)).length);
      }),
    );
  });

  it('says so when an answer, a state or a page is missing or stands twice', () => {
    fc.assert(
      fc.property(batch, fc.nat(), fc.constantFrom(...Object.values(DOCTORS)), (fates, pick, doctor) => {
        const pages = reportOf(fates);
        const doctored = doctor(pages, pick);
        if (doctored !== undefined) assert.notDeepEqual(faultsOf(doctored), []);
      }),
      { numRuns: 500 },
    );
  });

  it('names the pages that never arrived, and their items where the total is told', () => {
    const pages: ReportPage[] = [
      { page: 0, published: 2, pages: null, total: null, rows: [done(0, 0), done(0, 1)] },
      { page: 3, published: 1, pages: 5, total: 9, rows: [done(3, 0)] },
    ];
    assert.deepEqual(extentOf(pages), { pages: 5, arrived: 2, absentPages: [1, 2, 4], total: 9 });
    assert.deepEqual(faultsOf(pages), []);
    assert.equal(countReport(pages).absent, 6);
    assert.equal(countReport(pages).published, 9);
  });

  it('of a batch whose last page never arrived names the gaps that it can see', () => {
    const pages = [0, 2].map((page): ReportPage => ({
      page,
      published: 1,
      pages: null,
      total: null,
      rows: [rowOf(page, 0, { admission: 'pending', state: 'waiting' })],
    }));
    assert.deepEqual(extentOf(pages), { pages: null, arrived: 2, absentPages: [1], total: null });
    assert.deepEqual(faultsOf(pages), []);
    assert.equal(countReport(pages).absent, 0);
  });
});

type Doctor = (pages: ReportPage[], pick: number) => ReportPage[] | undefined;

/** Each breaks a report in one way; undefined where there is nothing to break. */
const DOCTORS = {
  answerMissing: (pages, pick) => changeRows(pages, pick, (rows) => rows.slice(1)),
  answerTwice: (pages, pick) => changeRows(pages, pick, (rows) => [...rows, ...rows.slice(0, 1)]),
  stateMissing: (pages) =>
    acceptedIn(pages) === 0 ? undefined : changeAll(pages, (row) => ({ ...row, state: null })),
  keyTwice: (pages) =>
    acceptedIn(pages) < 2 ? undefined : changeAll(pages, (row) => ({ ...row, key: 'same' })),
  pageLost: (pages) =>
    // Lost while the extent says that it is there: the totals tell.
    pages.length === 1 ? undefined : pages.slice(1).map((page) => ({ ...page, pages: pages.length - 1 })),
  totalUnreached: (pages) =>
    extentOf(pages).absentPages.length > 0
      ? undefined
      : pages.map((page) => ({ ...page, total: page.total === null ? null : page.total + 1 })),
  extentTwice: (pages) =>
    pages.length === 1 ? undefined : pages.map((page, at) => ({ ...page, pages: 10 + at })),
} satisfies { [name: string]: Doctor };

function acceptedIn(pages: ReportPage[]): number {
  return pages.flatMap(({ rows }) => rows).filter(({ admission }) => admission === 'accepted').length;
}

function changeAll(pages: ReportPage[], change: (row: ReportRow) => ReportRow): ReportPage[] {
  return pages.map((page) => ({ ...page, rows: page.rows.map(change) }));
}

function changeRows(
  pages: ReportPage[],
  pick: number,
  change: (rows: readonly ReportRow[]) => readonly ReportRow[],
): ReportPage[] {
  const at = pick % pages.length;
  return pages.map((page, index) => (index === at ? { ...page, rows: change(page.rows) } : page));
}
