import { z } from 'zod';
import { canonicalText, digest } from '../canonical.ts';
import { VERDICTS } from '../verdict.ts';

// The lines of a send log. Each is the canonical JSON (RFC 8785) of its fields, so that a value has one text and
// not a byte of it can change unseen. `docs/send-log.md` explains every field to who reads a log.

/** A Retry-After that is longer is no delay and no date, and would only make the log grow. */
export const MAX_RAW_RETRY_AFTER = 256;

/** Epoch ms with three decimals, on the clock of the process that wrote them; at most what a Date holds. */
const instant = z.number().nonnegative().max(8.64e15);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** No name of ours is nearly as long; the bound keeps any line far below what a writer reads back to resume. */
const name = z.string().min(1).max(1_000);
const epoch = z.int().nonnegative();

/** `prev` is the hash of the line before, null in a file's first; `hash` is over this line without `hash`. */
const seal = { prev: sha256.nullable(), hash: sha256 };

const LimitSchema = z.strictObject({
  requests: z.int().positive(),
  perMs: z.number().positive(),
  burst: z.int().positive(),
  arrivalWithinMs: z.number().positive().nullable(),
});

/** The first line that a process writes. */
const LogSchema = z.strictObject({
  kind: z.literal('log'),
  format: z.literal(1),
  /** random: no two logs begin alike, so none can be told apart from its copy, nor mistaken for another */
  nonce: z.string().regex(/^[0-9a-f]{16}$/),
  process: name,
  host: name,
  at: instant,
  /** of what an earlier process of this file left torn, between its last whole line and this one */
  torn: sha256.nullable(),
  ...seal,
});

/** A process holds the lane from here on, under these terms. */
const OpenedSchema = z.strictObject({
  kind: z.literal('opened'),
  lane: name,
  epoch,
  holder: name,
  limit: LimitSchema,
  maxInFlight: z.int().positive(),
  timeoutMs: z.number().positive(),
  at: instant,
  ...seal,
});

/** An override: calls that leave after this line go by it. */
const LimitsSchema = z.strictObject({
  kind: z.literal('limits'),
  lane: name,
  epoch,
  limit: LimitSchema,
  maxInFlight: z.int().positive(),
  at: instant,
  ...seal,
});

/** The holder gave the lane up, and whoever comes next was told all that it knew. Not there after a crash. */
const HandedOverSchema = z.strictObject({
  kind: z.literal('handedOver'),
  lane: name,
  epoch,
  at: instant,
  ...seal,
});

const departure = {
  /** unique over all logs */
  call: name,
  lane: name,
  epoch,
  key: name,
  attempt: z.int().positive(),
  /** of method, path and body */
  sha256,
  /** it only asked whether the work was done */
  lookup: z.boolean(),
  probe: z.boolean(),
  leftAt: instant,
};

/** Written before the first byte goes out. */
const LeftSchema = z.strictObject({ kind: z.literal('left'), ...departure, ...seal });

/** Written only where another call leaves between this one's status and its end, and so may have counted on it. */
const AnsweredSchema = z.strictObject({
  kind: z.literal('answered'),
  call: name,
  answeredAt: instant,
  ...seal,
});

/** Written when the call has ended; says all that `left` said once more. */
const CallSchema = z
  .strictObject({
    kind: z.literal('call'),
    ...departure,
    holder: name,
    /** when the status came; null: it did not */
    answeredAt: instant.nullable(),
    verdict: z.enum(VERDICTS),
    /** the status, or the network's code */
    end: z.union([z.int(), name]),
    /** as it came, secrets blanked */
    retryAfter: z.string().max(MAX_RAW_RETRY_AFTER).nullable(),
    /** what we took it for; null: not usable */
    retryAfterMs: z.number().positive().nullable(),
    endedAt: instant,
    ...seal,
  })
  .refine(({ leftAt, answeredAt, endedAt }) => leftAt <= (answeredAt ?? leftAt) && leftAt <= endedAt, {
    path: ['leftAt'],
    error: 'expected nothing of a call before it left',
  })
  .refine(({ answeredAt, endedAt }) => (answeredAt ?? endedAt) <= endedAt, {
    path: ['answeredAt'],
    error: 'expected at most endedAt',
  })
  .refine(({ answeredAt, end }) => (answeredAt !== null) === (typeof end === 'number'), {
    path: ['end'],
    error: 'expected a status exactly where the call was answered',
  });

const LineSchema = z.discriminatedUnion('kind', [
  LogSchema,
  OpenedSchema,
  LimitsSchema,
  HandedOverSchema,
  LeftSchema,
  AnsweredSchema,
  CallSchema,
]);

export type Line = Readonly<z.infer<typeof LineSchema>>;
export type LineOf<K extends Line['kind']> = Extract<Line, { kind: K }>;
type Unsealed<L> = L extends Line ? Omit<L, 'prev' | 'hash'> : never;
/** A line before it has its place in a log. */
export type LineBody = Unsealed<Line>;

/** Gives a line its place behind the one whose hash is `prev`; null for a file's first. */
export function sealLine(body: LineBody, prev: string | null): { text: string; hash: string } {
  const hash = digest({ ...body, prev });
  return { text: canonicalText({ ...body, prev, hash }), hash };
}

export type ReadLine = { ok: true; line: Line } | { ok: false; problem: string };

/** Reads one line by itself: its form, and that its hash is its own. Its place is for the log's reader to judge. */
export function readLine(text: string): ReadLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: 'expected a line of JSON, got something else or a part of one' };
  }
  const parsed = LineSchema.safeParse(value);
  if (!parsed.success) return { ok: false, problem: describe(parsed.error) };
  const { hash, ...rest } = parsed.data;
  if (canonicalText(parsed.data) !== text)
    return { ok: false, problem: 'expected canonical JSON (RFC 8785), as onelane writes it' };
  if (digest(rest) !== hash) return { ok: false, problem: 'hash: does not fit the line, which was changed' };
  return { ok: true, line: parsed.data };
}

function describe(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join('.') || 'line'}: ${message}`).join('; ');
}
