import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  type Claimant,
  type HoldReport,
  beginHold,
  close,
  endHold,
  forgetHold,
  loseHold,
  newLaneRecord,
  noteFingerprint,
  noteOverride,
  viewOf,
} from '../../src/domain/lane-record.ts';

const NOW_MS = Date.UTC(2026, 7, 12, 17);
const WINDOW = {
  ages: [[10, 3]] as [number, number][],
  requests: 10,
  perMs: 1_000,
  burst: 1,
  timeoutMs: 200,
};
const CLAIMANT: Claimant = {
  process: 'p1',
  host: 'h',
  fingerprint: 'f1',
  leaseMs: 15_000,
  limit: { requests: 10, perMs: 1_000 },
  maxInFlight: 1,
  idleAfterMs: 60_000,
};
const REPORT: HoldReport = {
  window: WINDOW,
  tallies: { succeeded: 5, throttled: 1, unavailable: 0, ambiguous: 2, refused: 0, laneFault: 0 },
  closedForMs: 0,
  closedBecause: '',
  probing: false,
  backoffMs: 0,
  inFlight: 0,
};
const OVERRIDE = { by: 'ada', reason: 'why', atMs: NOW_MS };

const fresh = () => newLaneRecord('releases', null, { kind: 'none' }, 0);

describe('the record of a lane', () => {
  it('of an earlier run that nobody knows of begins with a probe, a new one without', () => {
    assert.equal(newLaneRecord('releases', null, { kind: 'unknown' }, 0).probing, true);
    assert.equal(fresh().probing, false);
  });

  it('gives each hold an epoch and a version of its own', () => {
    const record = fresh();
    const seen = [1, 2, 3].map(() => {
      const { epoch } = beginHold(record, CLAIMANT, NOW_MS);
      forgetHold(record);
      return [epoch, record.version];
    });
    assert.deepEqual(seen, [
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  it('adds up what its holders did, whether they gave it back or were lost', () => {
    const record = fresh();
    beginHold(record, CLAIMANT, NOW_MS);
    endHold(record, REPORT, NOW_MS);
    beginHold(record, CLAIMANT, NOW_MS);
    loseHold(record, REPORT, 15_000, NOW_MS);
    assert.deepEqual([record.tallies.succeeded, record.tallies.ambiguous], [10, 4]);
    assert.deepEqual([record.handovers, record.takeovers], [1, 1]);
    assert.equal(record.holder, null);
  });

  it('knows nothing of what a lost holder did whose last words can not be read', () => {
    const record = fresh();
    beginHold(record, CLAIMANT, NOW_MS);
    loseHold(record, null, 15_000, NOW_MS);
    assert.deepEqual(record.last, { kind: 'unknown' });
    assert.equal(record.probing, true);
    assert.equal(record.holder, null);
  });

  it('keeps what was known when a claimant never took up the lane', () => {
    const record = fresh();
    beginHold(record, CLAIMANT, NOW_MS);
    loseHold(record, REPORT, 15_000, NOW_MS);
    const { last } = record;
    beginHold(record, CLAIMANT, NOW_MS);
    forgetHold(record);
    assert.deepEqual(record.last, last);
  });

  it('after a loss probes, and is closed for what is left of what its holder said a lease ago', () => {
    const record = fresh();
    beginHold(record, CLAIMANT, NOW_MS);
    loseHold(
      record,
      { ...REPORT, closedForMs: 60_000, closedBecause: '429', backoffMs: 4_000 },
      15_000,
      NOW_MS,
    );
    const view = viewOf(record, NOW_MS);
    assert.deepEqual([view.closedForMs, view.closedBecause], [45_000, '429']);
    assert.deepEqual([view.probing, view.backoffMs], [true, 4_000]);
  });

  it('is never opened sooner than anybody said, in whatever order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(1_000), fc.integer({ min: -10, max: 100_000 }))), (closures) => {
        const record = fresh();
        let nowMs = NOW_MS;
        let latestMs = 0;
        for (const [laterMs, forMs] of closures) {
          nowMs += laterMs;
          close(record, forMs, 'x', nowMs);
          if (forMs > 0) latestMs = Math.max(latestMs, nowMs + forMs);
          assert.equal(record.closedUntilMs, latestMs);
          assert.equal(viewOf(record, nowMs).closedForMs, Math.max(0, latestMs - nowMs));
        }
      }),
    );
  });

  it('keeps the newest 50 overrides, so that the last safe limit can be found, and the newest 10 fingerprints', () => {
    const record = fresh();
    for (let i = 1; i <= 60; i++) {
      noteOverride(record, { ...OVERRIDE, requests: i, maxInFlight: null });
      noteFingerprint(record, `f${i}`, `p${i}`, NOW_MS);
    }
    assert.equal(record.overrides.length, 50);
    assert.equal(record.overrides.at(-1)?.requests, 60);
    assert.equal(record.override?.requests, 60);
    assert.deepEqual(
      record.fingerprints.map(({ process }) => process),
      Array.from({ length: 10 }, (_, i) => `p${51 + i}`),
    );
  });

  it('keeps one fingerprint for each process, its newest', () => {
    const record = fresh();
    noteFingerprint(record, 'f1', 'p1', NOW_MS);
    noteFingerprint(record, 'f2', 'p1', NOW_MS + 1);
    assert.deepEqual(record.fingerprints, [{ fingerprint: 'f2', process: 'p1', seenMs: NOW_MS + 1 }]);
  });

  it('has no override any more when both limits are left to the configuration', () => {
    const record = fresh();
    noteOverride(record, { ...OVERRIDE, requests: 3, maxInFlight: null });
    noteOverride(record, { ...OVERRIDE, requests: null, maxInFlight: null });
    assert.equal(record.override, null);
    assert.equal(record.overrides.length, 2);
    assert.deepEqual([viewOf(record, NOW_MS).requests, record.version], [null, 2]);
  });

  it('goes through JSON unchanged, as it does when its workflow continues as new', () => {
    const record = fresh();
    beginHold(record, CLAIMANT, NOW_MS);
    endHold(record, REPORT, NOW_MS);
    assert.deepEqual(JSON.parse(JSON.stringify(record)), record);
  });
});
