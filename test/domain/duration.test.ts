import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { formatDuration, parseDuration } from '../../src/domain/duration.ts';

const TEN_YEARS_MS = 3650 * 86_400_000;

describe('durations', () => {
  it('each unit is read as milliseconds', () => {
    assert.equal(parseDuration('500ms'), 500);
    assert.equal(parseDuration('10s'), 10_000);
    assert.equal(parseDuration('5m'), 300_000);
    assert.equal(parseDuration('24h'), 86_400_000);
    assert.equal(parseDuration('30d'), 2_592_000_000);
  });

  for (const text of [
    '',
    '10',
    '10 s',
    ' 10s',
    '10s\n',
    '0s',
    '-1s',
    '1.5s',
    '05m',
    '1e3s',
    '10S',
    '1w',
    '1h30m',
    '١s',
  ]) {
    it(`${JSON.stringify(text)} is refused, with what was expected and what came`, () => {
      assert.throws(() => parseDuration(text), {
        message: `expected a duration such as 500ms, 10s, 5m, 24h or 30d, got ${JSON.stringify(text)}`,
      });
    });
  }

  it('more than ten years is refused, however many digits it has', () => {
    assert.equal(parseDuration('3650d'), TEN_YEARS_MS);
    assert.throws(() => parseDuration('3651d'), {
      message: 'expected a duration of at most 3650d, got "3651d"',
    });
    assert.throws(() => parseDuration(`${'9'.repeat(400)}ms`), /at most 3650d, got "9{40}…"$/);
  });

  it('a duration is written in the largest unit that holds it exactly', () => {
    assert.equal(formatDuration(0), '0s');
    assert.equal(formatDuration(1), '1ms');
    assert.equal(formatDuration(1_500), '1500ms');
    assert.equal(formatDuration(90_000), '90s');
    assert.equal(formatDuration(86_400_000), '1d');
    assert.equal(formatDuration(999.6), '1s');
  });

  it('any duration that was written reads back as itself', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: TEN_YEARS_MS }), (ms) => {
        assert.equal(parseDuration(formatDuration(ms)), ms);
      }),
    );
  });
});
