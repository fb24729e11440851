import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { MAX_RETRY_AFTER_MS, parseHttpDate, parseRetryAfter } from '../../src/domain/retry-after.ts';

/** 2026-08-12T17:00:00Z, a Wednesday. */
const NOW = Date.UTC(2026, 7, 12, 17);
const DATE = 'Wed, 12 Aug 2026 17:00:00 GMT';

const delay = (raw: string | undefined, date: string | undefined = DATE) => {
  const answer = parseRetryAfter(raw, date, NOW);
  return answer.usable ? answer.delayMs : 'unusable';
};

describe('Retry-After as delay-seconds', () => {
  it('seconds are read as milliseconds', () => {
    assert.equal(delay('2'), 2_000);
    assert.equal(delay('0030'), 30_000);
    assert.equal(delay(' \t120\t '), 120_000);
  });

  it('a fraction is rounded up to the next whole second, however small it is', () => {
    assert.equal(delay('1.5'), 2_000);
    assert.equal(delay('0.001'), 1_000);
    assert.equal(delay('2.0'), 2_000);
    assert.equal(delay('1.00000000000000000000000001'), 2_000);
  });

  for (const raw of [
    undefined,
    '',
    ' ',
    '0',
    '0.0',
    '-1',
    '+5',
    '1e3',
    '1e400',
    '.5',
    '5.',
    '5s',
    '5, 10',
    'NaN',
    'Infinity',
    '٣',
    '0x10',
  ]) {
    it(`${JSON.stringify(raw)} is as if absent`, () => {
      assert.equal(delay(raw), 'unusable');
    });
  }

  it('digits without end are a long delay, not Infinity', () => {
    assert.equal(delay('9'.repeat(400)), MAX_RETRY_AFTER_MS);
    assert.equal(delay(`1${'0'.repeat(400)}.5`), MAX_RETRY_AFTER_MS);
  });

  it('any delay in seconds comes back as itself', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), (seconds) => {
        assert.equal(delay(String(seconds)), seconds * 1000);
      }),
    );
  });

  it('any delay with a fraction is never earlier than asked, nor a second or more later', () => {
    fc.assert(
      fc.property(fc.nat(1e6), fc.nat(999), (whole, thousandths) => {
        const asked = whole * 1000 + thousandths;
        fc.pre(asked > 0);
        const given = delay(`${whole}.${String(thousandths).padStart(3, '0')}`);
        assert(
          typeof given === 'number' && given >= asked && given < asked + 1000,
          `asked ${asked}, given ${given}`,
        );
      }),
    );
  });
});

describe('Retry-After as an HTTP-date', () => {
  it('each of the three forms is measured against Date', () => {
    assert.equal(delay('Wed, 12 Aug 2026 17:00:30 GMT'), 30_000);
    assert.equal(delay('Wednesday, 12-Aug-26 17:00:30 GMT'), 30_000);
    assert.equal(delay('Wed Aug 12 17:00:30 2026'), 30_000);
  });

  it('Date is the upstream’s clock, whatever ours says', () => {
    assert.equal(delay('Sun, 06 Nov 1994 08:49:47 GMT', 'Sun, 06 Nov 1994 08:49:37 GMT'), 10_000);
    assert.equal(delay('Sun, 06 Nov 1994 08:49:47 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT'), 10_000);
    assert.equal(delay('Sun, 06 Nov 1994 08:49:47 GMT', 'Sun Nov  6 08:49:37 1994'), 10_000);
  });

  it('without a readable Date, our own clock counts', () => {
    assert.deepEqual(parseRetryAfter('Wed, 12 Aug 2026 17:00:30 GMT', undefined, NOW + 500), {
      usable: true,
      delayMs: 29_500,
    });
    assert.equal(delay('Wed, 12 Aug 2026 17:00:30 GMT', 'yesterday'), 30_000);
  });

  it('a date that is not after Date is as if absent', () => {
    assert.equal(delay(DATE), 'unusable');
    assert.equal(delay('Wed, 12 Aug 2026 16:59:59 GMT'), 'unusable');
  });

  it('a leap second is the first of the next minute', () => {
    assert.equal(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW), Date.UTC(2017, 0, 1));
  });

  it('a weekday that does not fit its date does not make us call earlier', () => {
    assert.equal(delay('Mon, 12 Aug 2026 17:00:30 GMT'), 30_000);
  });

  it('a two-digit year means the latest that is at most 50 years ahead', () => {
    const near = Date.UTC(2026, 0, 1);
    const year = (text: string, from = near) => new Date(parseHttpDate(text, from) ?? NaN).getUTCFullYear();
    assert.equal(year('Sunday, 06-Nov-94 08:49:37 GMT'), 1994);
    assert.equal(year('Sunday, 06-Nov-75 08:49:37 GMT'), 2075);
    assert.equal(year('Wednesday, 01-Jan-76 00:00:00 GMT'), 2076, 'exactly 50 years is not more than 50');
    assert.equal(year('Wednesday, 01-Jan-76 00:00:01 GMT'), 1976);
    assert.equal(year('Sunday, 06-Nov-05 08:49:37 GMT', Date.UTC(2099, 0, 1)), 2105);
  });

  for (const text of [
    'Wed, 12 Aug 2026 17:00:30 UTC',
    'Wed, 12 Aug 2026 17:00:30 +0000',
    'Wed, 12 Aug 2026 17:00:30',
    'wed, 12 Aug 2026 17:00:30 GMT',
    'Wed, 12 aug 2026 17:00:30 GMT',
    'Wed, 12 Aug 2026 17:00:30 gmt',
    'Wed, 1 Sep 2026 17:00:30 GMT',
    'Wed,  12 Aug 2026 17:00:30 GMT',
    'Mon, 31 Feb 2026 17:00:30 GMT',
    'Mon, 00 Mar 2026 17:00:30 GMT',
    'Wed, 12 Aug 2026 24:00:00 GMT',
    'Wed, 12 Aug 2026 17:60:00 GMT',
    'Wed, 12 Aug 2026 17:00:61 GMT',
    'Wed, 12-Aug-26 17:00:30 GMT',
    'Wed Sep 1 17:00:30 2026',
    'Wed Sep 01 17:00:30 2026 GMT',
    '2026-08-12T17:00:30Z',
    '12/08/2026',
    'tomorrow',
  ]) {
    it(`${text} is no HTTP-date`, () => {
      assert.equal(parseHttpDate(text, NOW), undefined);
    });
  }

  it('the year 50 is not 1950', () => {
    assert.equal(parseHttpDate('Sat, 01 Jan 0050 00:00:00 GMT', NOW), Date.parse('0050-01-01T00:00:00Z'));
  });

  it('any second comes back as itself in each form', () => {
    const second = fc.integer({ min: Date.UTC(1980, 0, 1) / 1000, max: Date.UTC(2070, 0, 1) / 1000 });
    fc.assert(
      fc.property(second, (epochSeconds) => {
        const ms = epochSeconds * 1000;
        for (const text of formsOf(ms)) assert.equal(parseHttpDate(text, NOW), ms, text);
      }),
    );
  });
});

describe('Retry-After as garbage', () => {
  const header = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.stringMatching(/^[0-9.,eE+\- ]{0,500}$/),
    fc.stringMatching(
      /^(Sun|Wednesday),? [0-9]{1,3}[ -](Feb|Aug|XXX)[ -][0-9]{1,5} [0-9]{1,3}:[0-9]{1,2}:[0-9]{1,2} (GMT|UTC)$/,
    ),
  );

  it('any text is either unusable or a delay that a timer can be computed from', () => {
    fc.assert(
      fc.property(header, fc.option(header, { nil: undefined }), fc.nat(8.64e15), (raw, date, now) => {
        const answer = parseRetryAfter(raw, date, now);
        if (answer.usable)
          assert(answer.delayMs > 0 && answer.delayMs <= MAX_RETRY_AFTER_MS, String(answer.delayMs));
      }),
      { numRuns: 2_000 },
    );
  });
});

/** IMF-fixdate, RFC 850 and asctime. */
function formsOf(ms: number): string[] {
  const fixdate = new Date(ms).toUTCString();
  const [, weekday = '', day = '', month = '', year = '', time = ''] =
    /^(\w+), (\d+) (\w+) (\d+) ([\d:]+) GMT$/.exec(fixdate) ?? [];
  const fullWeekday = new Date(ms).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  return [
    fixdate,
    `${fullWeekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`,
    `${weekday} ${month} ${String(Number(day)).padStart(2, ' ')} ${time} ${year}`,
  ];
}
