import { z } from 'zod';

/** More than one firing should ever bring; it is read whole before any of it is published. */
export const MAX_WINDOW_ITEMS = 100_000;

/** The time between two firings of a schedule: after `start`, until `end`, at which it fires. Instants in UTC, to the second. */
export interface Window {
  readonly start: string;
  readonly end: string;
}

/** What a schedule gives to each of its firings. Which one it is, its workflow ID says. */
export const FiringSchema = z.object({
  lane: z.string(),
  /** by its name in the workers' lanes.yaml, which alone knows its address and its secrets */
  source: z.string(),
  /** IANA name, for the dates in the source's address */
  timeZone: z.string(),
});
export type Firing = Readonly<z.infer<typeof FiringSchema>>;

/** What became of a window. */
export const WindowPublishedSchema = z.object({
  start: z.string(),
  end: z.string(),
  /** null: the source had no items, so there is no batch */
  batchId: z.string().nullable(),
  items: z.int(),
  accepted: z.int(),
  duplicate: z.int(),
  conflict: z.int(),
  rejected: z.int(),
});
export type WindowPublished = Readonly<z.infer<typeof WindowPublishedSchema>>;

/** An instant as windows have it: RFC 3339, UTC, to the second. */
export function instantText(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** What the address of a source may have in braces. */
export const WINDOW_PLACEHOLDERS = ['schedule', 'start', 'end', 'startDate', 'endDate'] as const;
type WindowPlaceholder = (typeof WINDOW_PLACEHOLDERS)[number];

/** Says why a text can't be the address of a source, or undefined when it can. */
export function windowTemplateFault(text: string): string | undefined {
  const names = [...text.matchAll(/\{(\w*)\}/g)].map(([, name]) => name ?? '');
  const unknown = names.find((name) => !isPlaceholder(name));
  if (unknown !== undefined)
    return `unknown placeholder {${unknown}}: expected ${WINDOW_PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}`;
  // Without it every window would be given the same items.
  return names.some((name) => name !== 'schedule') ? undefined : 'names no part of the window, e.g. {start}';
}

function isPlaceholder(name: string): name is WindowPlaceholder {
  return WINDOW_PLACEHOLDERS.some((known) => known === name);
}

/**
 * Fills the address of a source, one that `windowTemplateFault` let pass.
 *
 * @param encode makes a value fit for where it stands, e.g. `encodeURIComponent`
 */
export function fillWindow(
  text: string,
  { schedule, window, timeZone }: { schedule: string; window: Window; timeZone: string },
  encode: (value: string) => string,
): string {
  const values: Record<WindowPlaceholder, string> = {
    schedule,
    start: window.start,
    end: window.end,
    startDate: dateIn(timeZone, window.start),
    endDate: dateIn(timeZone, window.end),
  };
  return text.replaceAll(/\{(\w*)\}/g, (whole, name: string) =>
    isPlaceholder(name) ? encode(values[name]) : whole,
  );
}

/** The calendar's date at an instant, e.g. 2026-08-12. */
function dateIn(timeZone: string, instant: string): string {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).formatToParts(new Date(instant));
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? '';
  return `${of('year').padStart(4, '0')}-${of('month')}-${of('day')}`;
}
