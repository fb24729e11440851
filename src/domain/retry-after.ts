/**
 * How long an answer asked us to stay away. `usable: false` covers all that is treated as if the header were
 * absent: none, 0, negative, empty, unreadable, or a date that is not after the answer's own.
 */
export type RetryAfter = { usable: true; delayMs: number } | { usable: false };

/** Seconds without end are cut here, so that no sum becomes Infinity. Longer than any `retryAfterMax`. */
export const MAX_RETRY_AFTER_MS = Number.MAX_SAFE_INTEGER;

const UNUSABLE: RetryAfter = { usable: false };

/**
 * Reads a `Retry-After` header (RFC 9110, 10.2.3): delay-seconds or an HTTP-date.
 *
 * Fractions, which the RFC does not know but upstreams send, are rounded up to the next whole second: never
 * earlier than asked. A date is measured against the same answer's `Date`, since our clock may differ from
 * the upstream's.
 *
 * @param raw the header's value, undefined when the answer has none
 * @param dateHeader the `Date` header of the same answer
 * @param nowEpochMs our wall clock, for an answer without a readable `Date`
 * @returns the delay in milliseconds, greater than 0 and at most `MAX_RETRY_AFTER_MS`
 */
export function parseRetryAfter(
  raw: string | undefined,
  dateHeader: string | undefined,
  nowEpochMs: number,
): RetryAfter {
  const text = trimHttpSpace(raw ?? '');
  const delayMs = delaySeconds(text) ?? delayUntilDate(text, dateHeader, nowEpochMs);
  if (delayMs === undefined || !(delayMs > 0)) return UNUSABLE;
  return { usable: true, delayMs: Math.min(delayMs, MAX_RETRY_AFTER_MS) };
}

/** The fraction is judged by its digits: as a number, `1.00000000000000000001` would already be 1. */
function delaySeconds(text: string): number | undefined {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text);
  if (!match) return undefined;
  const roundUp = /[1-9]/.test(match[2] ?? '') ? 1 : 0;
  return (Number(match[1]) + roundUp) * 1000;
}

function delayUntilDate(
  text: string,
  dateHeader: string | undefined,
  nowEpochMs: number,
): number | undefined {
  const measuredFrom = parseHttpDate(trimHttpSpace(dateHeader ?? ''), nowEpochMs) ?? nowEpochMs;
  const until = parseHttpDate(text, measuredFrom);
  return until === undefined ? undefined : until - measuredFrom;
}

const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const FULL_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
/** 60 is a leap second. */
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)';

/** `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. */
const HTTP_DATE_FORMS = [
  new RegExp(`^${DAY}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${FULL_DAY}, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?<day>\\d{2}| \\d) ${TIME} (?<year>\\d{4})$`),
];

/**
 * Reads the three forms of an HTTP-date (RFC 9110, 5.6.7), case included, always as GMT; `Date.parse` would
 * take local times and much else. A weekday that does not fit its date is let pass: the date itself is
 * clear, and to call early because of it would be worse.
 *
 * @param nearEpochMs settles the century of a two-digit year
 * @returns milliseconds since the epoch, or undefined when this is no HTTP-date
 */
export function parseHttpDate(text: string, nearEpochMs: number): number | undefined {
  for (const form of HTTP_DATE_FORMS) {
    const parts = form.exec(text)?.groups;
    if (!parts) continue;
    const month = MONTHS.indexOf(parts['month'] ?? '');
    const day = Number(parts['day']);
    const timeMs =
      ((Number(parts['hour']) * 60 + Number(parts['minute'])) * 60 + Number(parts['second'])) * 1000;
    const instantIn = (year: number) => instant(year, month, day, timeMs);
    const year = Number(parts['year']);
    return parts['year']?.length === 2 ? latestWithin50Years(year, nearEpochMs, instantIn) : instantIn(year);
  }
  return undefined;
}

/** The latest year with these last two digits whose instant is at most 50 years ahead. */
function latestWithin50Years(
  twoDigits: number,
  nearEpochMs: number,
  instantIn: (year: number) => number | undefined,
): number | undefined {
  const near = new Date(nearEpochMs);
  const latest = new Date(nearEpochMs).setUTCFullYear(near.getUTCFullYear() + 50);
  const century = Math.floor(near.getUTCFullYear() / 100) * 100;
  return [century + 100, century, century - 100]
    .map((start) => instantIn(start + twoDigits))
    .find((candidate) => candidate !== undefined && candidate <= latest);
}

/** Undefined for a day that its month does not have. `Date.UTC` would move the years 0 to 99 to 19xx. */
function instant(year: number, month: number, day: number, timeMs: number): number | undefined {
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month, day);
  return midnight.getUTCDate() === day ? midnight.getTime() + timeMs : undefined;
}

/** Blanks around a field's value are not part of it (RFC 9110, 5.5). `trim` would take more than these two. */
function trimHttpSpace(text: string): string {
  return text.replace(/^[ \t]+/, '').replace(/[ \t]+$/, '');
}
