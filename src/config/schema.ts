import { z } from 'zod';
import { parseDuration } from '../domain/duration.ts';
import { reservedPrefixOf } from '../domain/ids.ts';
import { HTTP_METHODS } from '../domain/policy.ts';
import { parseTemplate, pathTemplateFault } from '../domain/template.ts';
import { VERDICTS } from '../domain/verdict.ts';
import { windowTemplateFault } from '../domain/window.ts';
import { OWN_HEADERS } from './upstream.ts';

// Every message says what was expected; what came is added where faults are written (faults.ts).

/** A mapping with these fields and no others: a mistyped name must not become a silent default. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `unknown field ${issue.keys.join(', ')}; known here: ${known}`
        : `expected a mapping with ${known}`,
  });
}

function text(expected: string, faultIn: (value: string) => string | undefined = () => undefined) {
  return z.string({ error: expected }).superRefine((value, context) => {
    const message = value === '' ? `${expected}, got an empty text` : faultIn(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
}

function matching(pattern: RegExp, expected: string) {
  return z.string({ error: expected }).regex(pattern, { error: expected });
}

function whole(expected: string) {
  return z.int({ error: expected }).min(1, { error: expected });
}

/** In the file a text such as `10s`; here milliseconds. */
function duration(expected = 'expected a duration such as 500ms, 10s, 5m, 24h or 30d') {
  return z.string({ error: expected }).transform((value, context) => {
    try {
      return parseDuration(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: messageOf(error) });
      return z.NEVER;
    }
  });
}

/** `none` must be written out: a number copied from an example is somebody else's. */
function noneOr<Schema extends z.ZodType>(schema: Schema, expected: string) {
  return z.union([z.literal('none').transform(() => null), schema], { error: expected });
}

/** Begins with a letter or digit; holds no `/` and no `:`, which separate the parts of workflow and queue names. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const name = matching(NAME, 'expected 1 to 100 letters, digits, dots, - or _, the first a letter or digit');

/** RFC 9110, 5.6.2. */
const headerName = matching(/^[\w!#$%&'*+.^`|~-]+$/, 'expected a header name (letters, digits and -)');
const headers = z.record(headerName, z.string({ error: 'expected a text (numbers in quotes)' }), {
  error: 'expected a mapping of header names to values',
});

const fieldPath = (expected: string) => matching(/^[^.\s]+(?:\.[^.\s]+)*$/, expected);

const keyTemplate = text('expected a template such as release:{payload.id}', (value) => {
  const template = attempt(() => parseTemplate(value));
  if (template instanceof Error) return template.message;
  if (!/^[\x20-\x7e]*$/.test(value)) return 'expected printable ASCII only, as in every key';
  const prefix = reservedPrefixOf(value);
  if (prefix !== undefined) return `may not begin with ${prefix}, which names onelane's own workflows`;
  const roots = template.parts.map((part) => (part.kind === 'placeholder' ? part.field[0] : undefined));
  if (roots.includes('key')) return 'may not contain {key}: the key is what it makes';
  if (!roots.includes('payload')) return 'names no {payload.…}, so that different items would share a key';
  return undefined;
});

const pathTemplate = text('expected a path such as /releases or /packages/{payload.id}', (value) => {
  const template = attempt(() => parseTemplate(value));
  return template instanceof Error ? template.message : pathTemplateFault(template);
});

const lookupPath = pathTemplate.refine((value) => value.includes('{'), {
  error: 'names nothing of the item, so that every item would be looked up alike',
});

const operation = fields({
  method: z.enum(HTTP_METHODS, { error: `expected one of ${HTTP_METHODS.join(', ')}` }),
  path: pathTemplate,
});

const upstream = fields({
  baseUrl: z.string({ error: 'expected an http or https URL' }),
  operations: z
    .record(name, operation, { error: 'expected a mapping of operation names' })
    .refine(hasMember, {
      error: 'expected at least one operation',
    }),
  headers: headers.default({}),
  timeout: duration().default(6_000),
  idempotency: noneOr(
    fields({
      header: headerName
        .refine((value) => !OWN_HEADERS.includes(value.toLowerCase()), {
          error: 'onelane fills this header with something else',
        })
        .default('Idempotency-Key'),
      window: duration('expected how long the upstream keeps a key, such as 24h'),
    }),
    'expected a mapping with header, window, or none when the upstream takes no idempotency keys',
  ),
  lookup: fields({
    path: lookupPath,
    keyField: fieldPath('expected the field of the answer that repeats the key, such as key').default('key'),
  }).optional(),
  verdicts: z
    .record(
      matching(/^[1-5]\d\d$/, 'expected a status from 100 to 599'),
      z.enum(VERDICTS, { error: `expected one of ${VERDICTS.join(', ')}` }),
      { error: 'expected a mapping of statuses to verdicts' },
    )
    .default({}),
  receiptId: fieldPath('expected a field of the answer, such as id or data.id').default('id'),
});

const limit = fields({
  requests: whole('expected how many requests the upstream grants, at least 1'),
  per: duration('expected the time that the requests are granted for, such as 1s or 1h'),
  burst: whole('expected a whole number of at least 1').default(1),
  share: matching(/^(?:[1-9]\d?|100)%$/, 'expected a percentage from 1% to 100%')
    .transform((value) => Number(value.slice(0, -1)))
    .default(100),
  arrivalWithin: duration().optional(),
});

const partitionBy = fields({
  field: matching(
    /^(?:partition|payload(?:\.[^.\s]+)+)$/,
    'expected partition, or a field such as payload.tenant',
  ),
  independence: text('expected where the upstream documents that these quotas are separate'),
  headers: z
    .record(name, headers, { error: 'expected a mapping of partitions to their headers' })
    .default({}),
  // Opening a lane again costs a few round trips, keeping an idle one open a beat now and then.
  idleAfter: duration().default(300_000),
});

export const LaneSchema = fields({
  owner: text('expected the team or person to ask about this lane'),
  upstream,
  key: keyTemplate.optional(),
  limit,
  maxInFlight: whole('expected a whole number of at least 1').default(1),
  partitionBy: partitionBy.optional(),
  retry: fields({
    budget: noneOr(
      whole('expected a whole number of at least 1, or none'),
      'expected a whole number of at least 1, or none',
    ),
    initial: duration().default(1_000),
    max: duration().default(300_000),
  }),
  deadline: noneOr(duration(), 'expected a duration such as 24h, or none'),
  dedupWindow: duration().default(2_592_000_000),
  lease: duration().default(15_000),
  retryAfterMax: duration().default(86_400_000),
});
/** A lane as the file has it: durations in milliseconds, `none` as null, its environment not yet expanded. */
export type LaneFields = z.infer<typeof LaneSchema>;

/** A pattern of files, from the root: a worker's working directory is nobody's promise. */
const filePattern = text('expected a file pattern such as /drops/{startDate}/*.ndjson', (value) =>
  value.startsWith('/') ? windowTemplateFault(value) : 'expected an absolute path',
);

export const SourceSchema = fields({
  url: z.string({ error: 'expected an http or https URL' }).optional(),
  files: filePattern.optional(),
  headers: headers.default({}),
  timeout: duration().default(60_000),
}).refine(({ url: address, files }) => (address === undefined) !== (files === undefined), {
  error: 'expected either url or files',
});

export const FileSchema = fields({
  lanes: z
    .record(name, z.unknown(), { error: 'expected a mapping of lane names' })
    .refine(hasMember, { error: 'expected at least one lane' }),
  sources: z.record(name, z.unknown(), { error: 'expected a mapping of source names' }).optional(),
});

function hasMember(mapping: object): boolean {
  return Object.keys(mapping).length > 0;
}

function attempt<T>(read: () => T): T | Error {
  try {
    return read();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
