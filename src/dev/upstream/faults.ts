import { z } from 'zod';
import { HTTP_DATE_FORMS } from './http-date.ts';

/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
export const timerMs = z.int().min(0).max(MAX_TIMER_MS);

/** A line break in a header would let a script write headers, or bodies, that it doesn't name. */
const headerValue = z.string().regex(/^[\x20-\x7e]*$/, 'expected printable ASCII without line breaks');
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'expected an HTTP header name');

/** For how many arrivals in a row a scripted fault holds; once when absent. */
export const times = z.union([z.int().min(1), z.literal('always')]).optional();

/** What the database holds while the fault is felt: `committed` means recorded, though nobody is told. */
const effect = z.enum(['none', 'committed']).default('none');

const retryAfter = z.union([
  headerValue,
  z.strictObject({ date: z.enum(HTTP_DATE_FORMS), inSeconds: z.int() }),
]);

/**
 * `retryAfter`: verbatim, or a date computed when answering, or absent. `everybody`: whoever comes before it has
 * passed is turned away alike, told what is left of it.
 */
export const throttle = z
  .strictObject({
    type: z.literal('throttle'),
    times,
    status: z.union([z.literal(429), z.literal(503), z.literal(403)]).default(429),
    retryAfter: retryAfter.optional(),
    everybody: z.boolean().default(false),
  })
  .refine((fault) => !fault.everybody || delaySeconds(fault) !== undefined, {
    path: ['everybody'],
    error: 'expected with a retryAfter in whole seconds, which says for how long',
  })
  .refine((fault) => fault.status === 429 || fault.retryAfter !== undefined, {
    path: ['retryAfter'],
    error: 'expected with status 503 or 403, which throttle only with a Retry-After; else use type "status"',
  });

export const status = z
  .strictObject({
    type: z.literal('status'),
    times,
    status: z
      .int()
      .min(200)
      .max(599)
      .refine((code) => code !== 429, 'expected another status than 429, which is type "throttle"'),
    headers: z.record(headerName, headerValue).default({}),
    body: z.string().optional(),
    effect,
  })
  .refine((fault) => fault.status !== 503 || fault.effect === 'none', {
    path: ['effect'],
    error: 'expected "none" with status 503, which says that nothing was done',
  });

/** With effect `none` the effect is recorded when the delay is over, even if the client has gone by then. */
const delay = z.strictObject({ type: z.literal('delay'), times, ms: timerMs, effect });

/** Commits, then resets the connection instead of answering. */
const lostResponse = z.strictObject({ type: z.literal('lostResponse'), times });

/** Resets the connection before anything is committed. */
const reset = z.strictObject({ type: z.literal('reset'), times });

/** Resets every connection, this one before its commit, and accepts no other for `forMs`. */
const closed = z.strictObject({ type: z.literal('closed'), times, forMs: timerMs });

/** Never answers; ends when the client gives up. */
const hang = z.strictObject({ type: z.literal('hang'), times, effect });

/** One way in which the upstream misbehaves. */
export const faultSchema = z.discriminatedUnion('type', [
  throttle,
  status,
  delay,
  lostResponse,
  reset,
  closed,
  hang,
]);
export type Fault = z.output<typeof faultSchema>;
export type RetryAfter = z.output<typeof retryAfter>;

/** What happens to a key's arrivals, in order; after the last fault the upstream behaves. */
export const faultScriptSchema = z.record(z.string().min(1), onlyLastForEver(z.array(faultSchema)));
/** As it is written, with defaults left out. */
export type FaultScript = z.input<typeof faultScriptSchema>;
export type ParsedFaultScript = z.output<typeof faultScriptSchema>;

interface Repeated {
  readonly times?: number | 'always' | undefined;
}

export function onlyLastForEver<F extends Repeated, S extends z.ZodType<F[]>>(script: S): S {
  return script.refine(
    (faults) => faults.slice(0, -1).every((fault) => fault.times !== 'always'),
    'expected `times: "always"` on the last fault only: nothing after it would be reached',
  );
}

/** The fault for the nth arrival (from 1), or undefined when the script has ended. */
export function scriptedFault<F extends Repeated>(faults: readonly F[], n: number): F | undefined {
  let covered = 0;
  for (const fault of faults) {
    covered += fault.times === 'always' ? Infinity : (fault.times ?? 1);
    if (n <= covered) return fault;
  }
  return undefined;
}

/** The fault's stable name, e.g. `throttle:imf-date`, `throttle:503:seconds`, `status:500:committed`. */
export function faultKind(fault: Fault): string {
  switch (fault.type) {
    case 'throttle': {
      const form = retryAfterForm(fault.retryAfter);
      return fault.status === 429 ? `throttle:${form}` : `throttle:${fault.status}:${form}`;
    }
    case 'status':
      return withEffect(`status:${fault.status}`, fault.effect);
    case 'delay':
    case 'hang':
      return withEffect(fault.type, fault.effect);
    case 'lostResponse':
    case 'reset':
    case 'closed':
      return fault.type;
    default:
      return unknownFault(fault);
  }
}

/** The compiler sees that no fault comes here; a fault type added and forgotten does not compile. */
export function unknownFault(fault: never): never {
  throw new Error(`expected a known fault, got ${JSON.stringify(fault)}`);
}

/** What its Retry-After asks for, where that is in whole seconds. */
export function delaySeconds(fault: { readonly retryAfter?: RetryAfter | undefined }): number | undefined {
  const { retryAfter: asked } = fault;
  return typeof asked === 'string' && /^\d{1,6}$/.test(asked) ? Number(asked) : undefined;
}

function withEffect(name: string, outcome: 'none' | 'committed'): string {
  return outcome === 'committed' ? `${name}:committed` : name;
}

function retryAfterForm(value: RetryAfter | undefined): string {
  if (value === undefined) return 'none';
  if (typeof value !== 'string') return `${value.date}-date`;
  if (value === '') return 'empty';
  if (/^0+$/.test(value)) return 'zero';
  return /^\d+$/.test(value) ? 'seconds' : 'other';
}
