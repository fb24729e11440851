const UNIT_MS = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
} as const;
type Unit = keyof typeof UNIT_MS;

/** The largest first, so that the first that divides a duration evenly gives its shortest text. */
const UNITS: readonly Unit[] = ['d', 'h', 'm', 's', 'ms'];

/** Ten years. A longer one is a typing mistake, and dates computed with it could leave what a Date holds. */
const MAX_DURATION_MS = 3650 * UNIT_MS.d;

/**
 * Reads `500ms`, `10s`, `5m`, `24h` or `30d`: one whole positive number and one unit, without a space.
 *
 * @returns milliseconds, from 1 to ten years
 * @throws Error that says what was expected and what came
 */
export function parseDuration(text: string): number {
  const match = /^([1-9]\d*)([a-z]+)$/.exec(text);
  const unit = UNITS.find((candidate) => candidate === match?.[2]);
  if (!match || !unit)
    throw new Error(`expected a duration such as 500ms, 10s, 5m, 24h or 30d, got ${quote(text)}`);
  const ms = Number(match[1]) * UNIT_MS[unit];
  if (ms > MAX_DURATION_MS) throw new Error(`expected a duration of at most 3650d, got ${quote(text)}`);
  return ms;
}

/**
 * Writes a duration in the largest unit that holds it exactly: 90000 is `90s`, 86400000 is `1d`. What
 * `parseDuration` reads comes back as the same number. Fractions of a millisecond are rounded.
 *
 * @param ms milliseconds, not negative; 0 is `0s`
 */
export function formatDuration(ms: number): string {
  const whole = Math.round(ms);
  if (whole === 0) return '0s';
  const unit = UNITS.find((candidate) => whole % UNIT_MS[candidate] === 0) ?? 'ms';
  return `${whole / UNIT_MS[unit]}${unit}`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
