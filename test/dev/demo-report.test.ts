import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brokenPromises, type DemoReport, reportOf, utilisation } from '../../src/dev/demo/report.ts';
import { EXPECTED, scenarioFrom, type Story } from '../../src/dev/demo/scenario.ts';
import type { ArrivalRecord } from '../../src/dev/upstream/records.ts';

const QUOTA = { requests: 5, perMs: 1_000 };
const SCENARIO = scenarioFrom(1, 'run');
const COUNTS = { ...EXPECTED, published: 60, pending: 0, discarded: 0, terminated: 0, open: 0 };

/** All that was promised, and as many of each fault as were scripted. */
const SOUND: DemoReport = {
  ...EXPECTED,
  seed: 1,
  effects: 56,
  keysWithTwoEffects: 0,
  quota: QUOTA,
  calls: 74,
  maxInAnyWindow: 5,
  maxInFlight: 1,
  earlyCalls: 0,
  utilisation: 0.5,
  faultsSeen: scripted(),
  upstream429: 6,
};

describe("the demo's promises", () => {
  it('hold for a sound report', () => {
    assert.deepEqual(brokenPromises(SOUND, SCENARIO), []);
  });

  it('hold for any use of the quota below it, and for faults that came more often', () => {
    const faultsSeen = { ...SOUND.faultsSeen, reset: 9, hang: 1 };
    assert.deepEqual(
      brokenPromises({ ...SOUND, maxInAnyWindow: 4, utilisation: 0.1, faultsSeen }, SCENARIO),
      [],
    );
  });

  const wrong: [name: keyof DemoReport, ...values: number[]][] = [
    ['accepted', 56, 58],
    ['duplicate', 0, 2],
    ['conflict', 0, 2],
    ['rejected', 0, 2],
    ['succeeded', 55, 57],
    ['dead', 0, 2],
    ['uncertain', 1],
    ['effects', 55, 57],
    ['keysWithTwoEffects', 1],
    ['maxInAnyWindow', 6],
    ['maxInFlight', 0, 2],
    ['earlyCalls', 1],
  ];
  for (const [name, ...values] of wrong)
    it(`are broken by a wrong ${name}, which is named with what was expected and what came`, () => {
      for (const value of values) {
        const broken = brokenPromises({ ...SOUND, [name]: value }, SCENARIO);
        assert.ok(
          broken.some((sentence) => sentence.startsWith(`${name}: `) && sentence.endsWith(`got ${value}`)),
          `${name} ${value}: ${broken.join('; ')}`,
        );
      }
    });

  it('are broken by any scripted fault that was not seen, or not as often as scripted', () => {
    for (const [kind, times] of Object.entries(scripted())) {
      const faultsSeen = { ...SOUND.faultsSeen, [kind]: times - 1 };
      assert.deepEqual(brokenPromises({ ...SOUND, faultsSeen }, SCENARIO), [
        `faultsSeen.${kind}: expected at least ${times}, got ${times - 1}`,
      ]);
    }
  });
});

describe('a report', () => {
  it('counts a call as early that comes before a Retry-After has passed, whoever it is from', () => {
    const throttled = storyOf('throttle:seconds');
    const early = (afterMs: number) => {
      const arrivals = [
        arrival({ monotonicMs: 1_000, key: throttled.key, fault: throttled.kind, status: 429 }),
        arrival({ monotonicMs: 1_000 + afterMs, key: 'another' }),
      ];
      return reportOf(SCENARIO, COUNTS, { arrivals, effects: [] }, QUOTA).earlyCalls;
    };
    assert.equal(early(throttled.askedMs - 1), 1);
    assert.equal(early(throttled.askedMs), 0);
  });

  it('takes effects, windows and answers from the upstream, and the rest from Temporal', () => {
    const arrivals = [0, 200, 400].map((monotonicMs) => arrival({ monotonicMs, openRequests: 2 }));
    const effects = ['a', 'a'].map((key, i) => ({ ...EFFECT, id: String(i), key }));
    const report = reportOf(SCENARIO, { ...COUNTS, succeeded: 2 }, { arrivals, effects }, QUOTA);
    const { succeeded, effects: rows, keysWithTwoEffects, maxInAnyWindow, maxInFlight, calls } = report;
    assert.deepEqual(
      { succeeded, rows, keysWithTwoEffects, maxInAnyWindow, maxInFlight, calls },
      { succeeded: 2, rows: 2, keysWithTwoEffects: 1, maxInAnyWindow: 3, maxInFlight: 2, calls: 3 },
    );
  });
});

describe('utilisation', () => {
  it('is 1 for calls at the pace that quota and latency allow', () => {
    const spacingMs = (QUOTA.perMs + 50) / QUOTA.requests;
    const arrivals = Array.from({ length: 21 }, (_, i) =>
      arrival({ monotonicMs: i * spacingMs, tookMs: 50 }),
    );
    assert.ok(Math.abs(utilisation(arrivals, QUOTA) - 1) < 1e-9);
  });

  it('is a half for calls half as often, and leaves unanswered ones out of the mean latency', () => {
    const arrivals = Array.from({ length: 21 }, (_, i) => arrival({ monotonicMs: i * 400, tookMs: 0 }));
    arrivals.push(arrival({ monotonicMs: 21 * 400, tookMs: 60_000, status: null }));
    assert.ok(Math.abs(utilisation(arrivals, QUOTA) - 0.5) < 1e-9);
  });

  it('is 0 where there are not two calls to measure between', () => {
    assert.equal(utilisation([], QUOTA), 0);
    assert.equal(utilisation([arrival({ monotonicMs: 5 })], QUOTA), 0);
  });
});

function scripted(): Record<string, number> {
  const times: Record<string, number> = {};
  for (const { kind } of SCENARIO.stories) times[kind] = (times[kind] ?? 0) + 1;
  return times;
}

function storyOf(kind: string): Story {
  const story = SCENARIO.stories.find((candidate) => candidate.kind === kind);
  assert.ok(story, kind);
  return story;
}

const EFFECT = { id: '', key: '', method: 'POST', path: '/', bodySha256: '', body: '', atMs: 0 };

function arrival({
  tookMs = 20,
  ...fields
}: Partial<ArrivalRecord> & { monotonicMs: number; tookMs?: number }): ArrivalRecord {
  return {
    sequence: 1,
    run: 'one',
    wallMs: 0,
    key: 'a',
    method: 'POST',
    path: '/',
    correlationId: null,
    openRequests: 1,
    overQuota: false,
    fault: null,
    bodySha256: null,
    status: 201,
    endedMs: fields.monotonicMs + tookMs,
    ...fields,
  };
}
