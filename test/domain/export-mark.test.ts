import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  type ExportMark,
  ExportPassage,
  NOTHING_EXPORTED,
  type Rest,
  lookFromMs,
} from '../../src/domain/export-mark.ts';

/** An item at rest, and when a list tells of it. */
interface Listed {
  readonly rest: Rest;
  readonly visibleAtMs: number;
}

const listed = fc
  .array(
    fc.record({
      atMs: fc.nat(120_000),
      lagMs: fc.oneof(fc.nat(20_000), fc.nat(300)),
      kind: fc.constantFrom('ended' as const, 'parked' as const),
    }),
    { maxLength: 60 },
  )
  .map((items) =>
    items.map(({ atMs, lagMs, kind }, n): Listed => ({
      rest: { key: `item-${n}`, runId: `run-${n}`, kind, atMs: 1_000_000 + atMs },
      visibleAtMs: 1_000_000 + atMs + lagMs,
    })),
  );

/** Exports that begin at these times; each reads its pages for a while, in an order that nobody chose. */
const exportTimes = fc.array(fc.record({ beginMs: fc.nat(200_000), pageMs: fc.nat(8_000) }), {
  minLength: 1,
  maxLength: 12,
});

/** One export, of which each page is read at a time of its own. */
function exportOnce(
  all: readonly Listed[],
  mark: ExportMark,
  beginMs: number,
  pageMs: number,
): { told: Rest[]; mark: ExportMark; endMs: number } {
  const visible = all.filter(({ visibleAtMs }) => visibleAtMs <= beginMs);
  const times = visible.map(({ rest }) => rest.atMs).filter((atMs) => atMs >= lookFromMs(mark));
  const passage = new ExportPassage(mark, times.length === 0 ? null : Math.max(...times));
  let nowMs = beginMs;
  const told: Rest[] = [];
  for (const { rest, visibleAtMs } of all) {
    nowMs += pageMs / (all.length + 1);
    if (visibleAtMs <= nowMs && passage.takes(rest)) told.push(rest);
  }
  return { told, mark: passage.mark(), endMs: nowMs };
}

test('over any exports, of lists that lag by up to 20 s and change while they are read, each item is told exactly once', () => {
  fc.assert(
    fc.property(listed, exportTimes, (all, times) => {
      let mark = NOTHING_EXPORTED;
      let freeAtMs = 0;
      const told: Rest[] = [];
      const begins = [...times.toSorted((a, b) => a.beginMs - b.beginMs), { beginMs: 400_000, pageMs: 0 }];
      for (const { beginMs, pageMs } of begins) {
        const done = exportOnce(all, mark, Math.max(freeAtMs, 1_000_000 + beginMs), pageMs);
        told.push(...done.told);
        ({ mark, endMs: freeAtMs } = done);
      }
      const keys = told.map(({ key }) => key).toSorted();
      assert.deepEqual(keys, all.map(({ rest }) => rest.key).toSorted());
    }),
    { numRuns: 2_000 },
  );
});

test('an export that is run again from its old mark tells the same again', () => {
  fc.assert(
    fc.property(listed, (all) => {
      const first = exportOnce(all, NOTHING_EXPORTED, 1_060_000, 0);
      const once = exportOnce(all, first.mark, 1_300_000, 0);
      assert.deepEqual(exportOnce(all, first.mark, 1_300_000, 0).told, once.told);
    }),
  );
});

test('an item that comes to rest again is told again; a mark remembers no more than the time that lists may lag', () => {
  const rest: Rest = { key: 'a', runId: 'r', kind: 'parked', atMs: 5_000 };
  const first = new ExportPassage(NOTHING_EXPORTED, 5_000);
  assert.equal(first.takes(rest), true);
  assert.equal(first.takes(rest), false);
  const second = new ExportPassage(first.mark(), 6_000);
  assert.equal(second.takes(rest), false);
  assert.equal(second.takes({ ...rest, kind: 'ended', atMs: 6_000 }), true);
  assert.equal(Object.keys(second.mark().seen).length, 2);
  const later = new ExportPassage(second.mark(), 60_000);
  assert.deepEqual(later.mark(), { atMs: 60_000, seen: {} });
});

test('while nothing has come to rest, a mark stays where it is', () => {
  assert.deepEqual(new ExportPassage(NOTHING_EXPORTED, null).mark(), NOTHING_EXPORTED);
  const mark: ExportMark = { atMs: 30_000, seen: { aa: 5 } };
  assert.deepEqual(new ExportPassage(mark, null).mark(), mark);
  assert.deepEqual(new ExportPassage(mark, 29_000).mark(), mark);
});
