import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { rateLimitHold } from '../../src/domain/rate-limit.ts';

const DAY_MS = 86_400_000;
const hold = (rateLimit: string | undefined, othersInFlight = 0, maxMs = DAY_MS) =>
  rateLimitHold({ rateLimit }, othersInFlight, maxMs);

describe('the RateLimit header', () => {
  it('a quota with nothing left holds the lane until it is filled again', () => {
    assert.equal(hold('"default";r=0;t=30'), 30_000);
    assert.equal(hold('default;t=30;r=0'), 30_000);
    assert.equal(hold('"a";r=0;t=5;pk=:YWJj:;x'), 5_000);
  });

  it('the form of older drafts is read too', () => {
    assert.equal(hold('limit=100, remaining=0, reset=30'), 30_000);
    assert.equal(hold('limit=100, remaining=1, reset=30'), undefined);
  });

  it('a quota with something left does not slow the lane down', () => {
    assert.equal(hold('"default";r=1;t=30'), undefined);
  });

  it('what remains may already belong to the calls in flight', () => {
    assert.equal(hold('"default";r=2;t=30', 1), undefined);
    assert.equal(hold('"default";r=2;t=30', 2), 30_000);
  });

  it('of several quotas the longest hold counts, and only of those that are used up', () => {
    assert.equal(hold('"second";r=0;t=1, "hour";r=0;t=1800, "day";r=90;t=80000'), 1_800_000);
  });

  it('a hold without end is cut to the longest that the lane allows', () => {
    assert.equal(hold('"default";r=0;t=999999999999999', 0, DAY_MS), DAY_MS);
  });

  for (const text of [
    undefined,
    '',
    '"default"',
    '"default";r=0',
    '"default";t=30',
    '"default";r=0;t=0',
    '"default";r=0;t=-5',
    '"default";r=-1;t=30',
    '"default";r="0";t=30',
    '"default";r=0;t=@30',
    '"default";r=0;t=1e9',
    '"default";r=0;t=9999999999999999',
    '"default;r=0;t=30',
    '"default";r=0;t=30,',
    'remaining=0',
    'remaining=zero, reset=30',
    '0',
    '{"r":0,"t":30}',
  ]) {
    it(`${JSON.stringify(text)} says nothing`, () => {
      assert.equal(hold(text), undefined);
    });
  }

  it('any text gives either nothing or a hold between 0 and the longest', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.stringMatching(
        /^("a"|b|\(1 2\)|limit=9)(;r=-?[0-9.]{1,18}|;t=-?[0-9.]{1,18}|, remaining=0|, reset=[0-9]{1,17})*$/,
      ),
    );
    fc.assert(
      fc.property(text, fc.nat(5), (header, othersInFlight) => {
        const ms = hold(header, othersInFlight);
        assert(ms === undefined || (ms > 0 && ms <= DAY_MS), String(ms));
      }),
      { numRuns: 2_000 },
    );
  });
});
