import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ArrivalRecord, EffectRecord } from '../../src/dev/upstream/records.ts';
import { statsOf } from '../../src/dev/upstream/stats.ts';

const QUOTA = { requests: 5, perMs: 1_000 };

const ARRIVAL: ArrivalRecord = {
  sequence: 1,
  run: 'first',
  monotonicMs: 0,
  wallMs: 0,
  key: 'k',
  method: 'POST',
  path: '/x',
  correlationId: null,
  openRequests: 1,
  overQuota: false,
  fault: null,
  bodySha256: null,
  status: 201,
  endedMs: 0,
};

const EFFECT: EffectRecord = {
  id: 'eff_1',
  key: 'k',
  method: 'POST',
  path: '/x',
  bodySha256: '',
  body: '',
  atMs: 0,
};

describe('the stats of an upstream', () => {
  it('never put arrivals of two runs into one window, since their clocks start anew', () => {
    const arrivals = [
      { ...ARRIVAL, monotonicMs: 100 },
      { ...ARRIVAL, monotonicMs: 200 },
      { ...ARRIVAL, run: 'second', monotonicMs: 150 },
    ];
    assert.equal(statsOf(arrivals, [], QUOTA, 'keys').maxInAnyWindow, 2);
  });

  it('tell the quota from the script among answers 429, and count what was never answered', () => {
    const arrivals = [
      { ...ARRIVAL, status: 429, overQuota: true },
      { ...ARRIVAL, status: 429, fault: 'throttle:none', openRequests: 3 },
      { ...ARRIVAL, status: null, fault: 'reset' },
    ];
    const { status429, scripted429, byStatus, faultsSeen, maxInFlight } = statsOf(
      arrivals,
      [],
      QUOTA,
      'keys',
    );
    assert.deepEqual(
      { status429, scripted429, byStatus, faultsSeen, maxInFlight },
      {
        status429: 2,
        scripted429: 1,
        byStatus: { '429': 2, unanswered: 1 },
        faultsSeen: { 'throttle:none': 1, reset: 1 },
        maxInFlight: 3,
      },
    );
  });

  it('count keys with more than one effect once each, and no effect without a key', () => {
    const keys = ['a', 'a', 'a', 'b', 'b', 'c', null, null];
    const effects = keys.map((key) => ({ ...EFFECT, key }));
    assert.equal(statsOf([], effects, QUOTA, 'neither').keysWithTwoEffects, 2);
  });
});
