import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { FRESH_LANE, type LaneReport, type LaneState, laneAfter } from '../../src/domain/lane-state.ts';
import type { CallEnd } from '../../src/domain/verdict.ts';

const MAX_MS = 86_400_000;

const status = (code: number): CallEnd => ({
  kind: 'answered',
  status: code,
  headers: {},
  body: '',
  whole: true,
});
const UNCONNECTED: CallEnd = { kind: 'unconnected', code: 'ECONNREFUSED' };
const TIMEOUT: CallEnd = { kind: 'unanswered', code: 'TIMEOUT' };

const KINDS = {
  succeeded: { verdict: 'succeeded', end: status(201) },
  throttled: { verdict: 'throttled', end: status(429) },
  unconnected: { verdict: 'unavailable', end: UNCONNECTED },
  timeout: { verdict: 'ambiguous', end: TIMEOUT },
  broken: { verdict: 'ambiguous', end: status(500) },
  refused: { verdict: 'refused', end: status(422) },
  notFound: { verdict: 'refused', end: status(404) },
  unauthorized: { verdict: 'laneFault', end: status(401) },
} as const satisfies Record<string, Pick<LaneReport, 'verdict' | 'end'>>;

const KIND_NAMES = [
  'succeeded',
  'throttled',
  'unconnected',
  'timeout',
  'broken',
  'refused',
  'notFound',
  'unauthorized',
] as const satisfies (keyof typeof KINDS)[];

function report(kind: keyof typeof KINDS, rest: Partial<LaneReport> = {}): LaneReport {
  return { key: 'k', probe: false, retryAfterMs: null, ...KINDS[kind], ...rest };
}

/** All at one moment, unless told otherwise. */
function after(reports: readonly LaneReport[], from: LaneState = FRESH_LANE, nowMs = 0): LaneState {
  return reports.reduce((lane, told) => laneAfter(lane, told, MAX_MS, nowMs), from);
}

const failures = (keys: string) =>
  Array.from(keys, (key, i) => report(i % 2 ? 'timeout' : 'broken', { key }));

const refusals = (keys: string, kind: 'refused' | 'notFound' = 'refused') =>
  Array.from(keys, (key) => report(kind, { key }));

/** Whether nothing may leave now. */
const isClosed = (lane: LaneState, nowMs = 0) => lane.closedUntilMs > nowMs;

const anyReport: fc.Arbitrary<LaneReport> = fc
  .record({
    kind: fc.constantFrom(...KIND_NAMES),
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    probe: fc.boolean(),
    retryAfterMs: fc.option(fc.integer({ min: 1, max: MAX_MS + 10 })),
  })
  .map(({ kind, ...rest }) => report(kind, rest));
const anyHistory = fc.array(fc.tuple(anyReport, fc.nat(60_000)), { maxLength: 60, size: 'max' });

describe('a closed lane', () => {
  it('is never opened earlier than it was closed for, whatever is reported', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        let lane = FRESH_LANE;
        let nowMs = 0;
        for (const [told, laterMs] of history) {
          nowMs += laterMs;
          const next = laneAfter(lane, told, MAX_MS, nowMs);
          assert(next.closedUntilMs >= lane.closedUntilMs);
          lane = next;
        }
      }),
    );
  });

  it('undercuts no Retry-After that came with throttling or a failure, or it pauses', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        let lane = FRESH_LANE;
        let nowMs = 0;
        for (const [told, laterMs] of history) {
          nowMs += laterMs;
          lane = laneAfter(lane, told, MAX_MS, nowMs);
          if (told.retryAfterMs === null || !['throttled', 'unavailable', 'ambiguous'].includes(told.verdict))
            continue;
          const heeded = lane.closedUntilMs >= nowMs + told.retryAfterMs;
          assert(heeded || lane.pausedBecause !== null);
          assert(!heeded || told.retryAfterMs <= MAX_MS || lane.closedUntilMs > nowMs + MAX_MS);
        }
      }),
    );
  });

  it('backs off by itself for 1, 2, 4, 8, 16, 30 and 30 s where no Retry-After says for how long', () => {
    for (const kind of ['throttled', 'timeout', 'unconnected'] as const) {
      let lane = after([report('throttled')]);
      const closedForMs = [lane.closedUntilMs];
      for (let i = 0; i < 6; i++) {
        const nowMs = lane.closedUntilMs;
        lane = after([report(kind, { probe: true })], lane, nowMs);
        closedForMs.push(lane.closedUntilMs - nowMs);
      }
      assert.deepEqual(closedForMs, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000], kind);
    }
  });

  it('is closed for as long as Retry-After asks, and says by what', () => {
    const lane = after([report('throttled', { retryAfterMs: 2_000, key: 'release:a:1' })], FRESH_LANE, 500);
    assert.equal(lane.closedUntilMs, 2_500);
    assert.equal(lane.closedBecause, '429 throttled at release:a:1');
    assert.equal(lane.probing, true);
  });

  it('keeps the later end when a shorter Retry-After comes after a longer one', () => {
    const lane = after([
      report('throttled', { retryAfterMs: 9_000, key: 'long' }),
      report('throttled', { retryAfterMs: 2_000, key: 'short' }),
    ]);
    assert.equal(lane.closedUntilMs, 9_000);
    assert.equal(lane.closedBecause, '429 throttled at long');
  });

  it('believes no Retry-After that proved too short: throttled again as a probe, it backs off as well', () => {
    let lane = after([report('throttled', { retryAfterMs: 1 })]);
    const closedForMs: number[] = [];
    for (let i = 0; i < 3; i++) {
      const nowMs = lane.closedUntilMs;
      lane = after([report('throttled', { retryAfterMs: 1, probe: true })], lane, nowMs);
      closedForMs.push(lane.closedUntilMs - nowMs);
    }
    assert.deepEqual(closedForMs, [1_000, 2_000, 4_000]);
    lane = after([report('throttled', { retryAfterMs: 60_000, probe: true })], lane, lane.closedUntilMs);
    assert.equal(lane.closedUntilMs, 1 + 7_000 + 60_000);
  });

  it('a Retry-After that came with a 500 closes the lane, too', () => {
    const lane = after([report('broken', { retryAfterMs: 7_000 })]);
    assert.equal(lane.closedUntilMs, 7_000);
    assert.equal(lane.probing, true);
  });

  for (const kind of ['throttled', 'broken'] as const)
    it(`a Retry-After beyond the maximum, with ${kind}, pauses the lane and says why`, () => {
      const just = after([report(kind, { retryAfterMs: MAX_MS })]);
      assert.equal(just.pausedBecause, null);
      assert.equal(just.closedUntilMs, MAX_MS);
      const over = after([report(kind, { retryAfterMs: MAX_MS + 1_000, key: 'release:a:1' })]);
      assert.match(
        over.pausedBecause ?? '',
        /^(429 throttled|500 ambiguous) at release:a:1: Retry-After asks for 86401000 ms, more than retryAfterMax \(86400000 ms\)$/,
      );
    });
});

describe('a probe', () => {
  const closedBy = after([report('throttled')]);

  for (const kind of ['succeeded', 'refused'] as const)
    it(`that was ${kind} opens the lane and forgets the backoff`, () => {
      const lane = after([report(kind, { probe: true })], closedBy, 1_000);
      assert.equal(lane.probing, false);
      assert.equal(after([report('throttled')], lane, 2_000).closedUntilMs, 3_000);
    });

  for (const kind of ['throttled', 'timeout', 'unconnected', 'unauthorized'] as const)
    it(`that ended as ${kind} does not open the lane`, () => {
      const lane = after([report(kind, { probe: true })], closedBy, 1_000);
      assert(lane.probing);
      assert(isClosed(lane, 1_000) || lane.pausedBecause !== null);
    });

  it('reports of calls that left before the closing neither open the lane nor double its backoff', () => {
    const early = fc.constantFrom('succeeded', 'refused', 'timeout', 'unconnected', 'throttled');
    fc.assert(
      fc.property(fc.array(fc.tuple(early, fc.constantFrom('a', 'b', 'c')), { maxLength: 4 }), (reports) => {
        const told = reports.map(([kind, key]) => report(kind, { key }));
        const lane = after(told, closedBy);
        assert.equal(lane.probing, true);
        assert.equal(lane.closedUntilMs, 1_000);
        assert.equal(lane.backoffMs, 1_000);
        assert.equal(lane.pausedBecause, null);
      }),
    );
  });

  it('a Retry-After of a call that left before the closing is heeded all the same', () => {
    for (const kind of ['throttled', 'broken'] as const) {
      const lane = after([report(kind, { retryAfterMs: 20_000 })], closedBy, 500);
      assert.equal(lane.closedUntilMs, 20_500);
      assert.equal(lane.backoffMs, 1_000);
    }
  });
});

describe('the breaker', () => {
  it('trips when the last five verdicts, from at least three keys, were failures', () => {
    const lane = after(failures('abcab'), FRESH_LANE, 100);
    assert.equal(lane.closedUntilMs, 1_100);
    assert.equal(lane.probing, true);
    assert.equal(lane.closedBecause, '500 ambiguous at b: the upstream looks away');
  });

  for (const [name, reports] of [
    ['four failures', failures('abcd')],
    ['failures of two keys, however many', failures('abababababab')],
    ['a success among the last five', [...failures('abc'), report('succeeded'), ...failures('abcd')]],
    ['a refusal among the last five', [...failures('abc'), report('refused'), ...failures('abcd')]],
    [
      'two calls that could not connect',
      [report('unconnected', { key: 'a' }), report('unconnected', { key: 'b' })],
    ],
    [
      'three that could not connect, but not in a row',
      [report('unconnected'), report('unconnected'), report('timeout'), report('unconnected')],
    ],
  ] as const)
    it(`does not trip by ${name}`, () => {
      const lane = after(reports);
      assert(!isClosed(lane), lane.closedBecause);
      assert.equal(lane.probing, false);
    });

  it('trips when three calls in a row could not connect, though one key asked', () => {
    assert.equal(
      after([report('unconnected'), report('unconnected'), report('unconnected')]).closedUntilMs,
      1_000,
    );
  });

  for (const kind of ['succeeded', 'refused'] as const)
    it(`${kind} between them is an answer: those that could not connect count anew`, () => {
      const twice = [report('unconnected'), report('unconnected')];
      const answered = after([...twice, report(kind)]);
      assert(!isClosed(after([report('unconnected')], answered, 1_000), 1_000));
    });

  it('throttling between them is an answer, also while the lane is closed by it', () => {
    const lane = after([report('unconnected'), report('unconnected'), report('throttled')]);
    assert.equal(lane.unconnectedInARow, 0);
  });

  it('any sequence of failures on an open lane trips it exactly when the rule says so', () => {
    const failing = fc.record({
      kind: fc.constantFrom('broken', 'timeout', 'unconnected', 'succeeded'),
      key: fc.constantFrom('a', 'b', 'c'),
    });
    fc.assert(
      fc.property(fc.array(failing, { minLength: 1, maxLength: 12 }), (calls) => {
        const open = after(calls.slice(0, -1).map(({ kind, key }) => report(kind, { key })));
        fc.pre(!isClosed(open));
        const lane = after(
          calls.slice(-1).map(({ kind, key }) => report(kind, { key })),
          open,
        );
        const lastFive = calls.slice(-5);
        const failed = lastFive.length === 5 && lastFive.every(({ kind }) => kind !== 'succeeded');
        const keys = new Set(lastFive.map(({ key }) => key)).size;
        const away = calls.length >= 3 && calls.slice(-3).every(({ kind }) => kind === 'unconnected');
        assert.equal(isClosed(lane), (failed && keys >= 3) || away);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('a lane pauses itself', () => {
  it('by one laneFault', () => {
    assert.equal(
      after([report('unauthorized')]).pausedBecause,
      "401 laneFault at k: the upstream does not accept the lane's credentials",
    );
  });

  it('when the last five, from five keys, were refused with the same status', () => {
    assert.equal(
      after(refusals('abcde', 'notFound')).pausedBecause,
      '404 refused at e: the last 5 items were refused alike',
    );
  });

  for (const [name, reports] of [
    ['four refusals', refusals('abcd')],
    ['refusals of four keys', refusals('abcda')],
    ['refusals with two statuses', [...refusals('abcd'), ...refusals('e', 'notFound')]],
    ['a success among them', [...refusals('abc'), report('succeeded', { key: 'x' }), ...refusals('de')]],
    ['a failure among them', [...refusals('abc'), report('timeout', { key: 'x' }), ...refusals('de')]],
  ] as const)
    it(`not by ${name}`, () => {
      assert.equal(after(reports).pausedBecause, null);
    });

  it('and nothing that is reported ends the pause', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const pausedLane = after([report('unauthorized')]);
        const lane = after(
          history.map(([told]) => told),
          pausedLane,
        );
        assert.notEqual(lane.pausedBecause, null);
      }),
    );
  });
});
