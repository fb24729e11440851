import { z } from 'zod';
import { boundDepth, canonicalText, digest, utf8Length } from './canonical.ts';
import type { ItemEnd } from './delivery.ts';
import type { ItemState } from './item.ts';
import type { Json } from './json.ts';

/** One page: what one `dispatchBatch` workflow can start within its history and answer within one result. */
export const MAX_PAGE_ITEMS = 500;
/** Temporal refuses payloads over 2 MiB, and the page is stored twice. */
export const MAX_PAGE_BYTES = 1024 * 1024;

const NAME = /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/;
/** What all checks of a name come to, without the ends: for who reads the JSON schema only. */
export const NAME_PATTERN = '[!#-.0-\\[\\]-~](?:[ !#-.0-\\[\\]-~]{0,198}[!#-.0-\\[\\]-~])?';
const name = z
  .string()
  .regex(NAME, 'expected 1 to 200 printable ASCII characters, not beginning or ending with a space')
  .refine((text) => !text.includes('/'), 'may not contain "/", which separates the parts of an ID')
  .refine(
    (text) => !/["\\]/.test(text),
    'may not contain " or \\, which Temporal cannot look for in its lists',
  )
  .meta({ pattern: `^${NAME_PATTERN}$`, minLength: 1, maxLength: 200 });

/** The input of `dispatchBatch`. Items are judged one by one, later: a bad one must not stop the good ones. */
export const BatchSchema = z.strictObject({
  batchId: name,
  page: z.int().min(0).optional(),
  /** how many pages the batch has, as far as its publisher knew then; at the latest, the last page says so */
  pages: z.int().min(1).optional(),
  /** how many items all pages hold, told with `pages`: so the items of a page that never arrived can be counted */
  total: z.int().min(1).optional(),
  lane: name,
  publisher: z.string().min(1).max(255).optional(),
  items: z
    .array(z.unknown())
    .min(1, 'expected at least one item, got an empty batch')
    .max(MAX_PAGE_ITEMS, `expected at most ${MAX_PAGE_ITEMS} items in one page`),
});
export type Batch = z.infer<typeof BatchSchema>;

export type ParsedBatch =
  { ok: true; batch: Batch } | { ok: false; reason: string; /** of items or bytes */ isTooLarge: boolean };

/** Parses a batch, or says all that is wrong with it as a whole. */
export function parseBatch(input: unknown): ParsedBatch {
  const parsed = BatchSchema.safeParse(input);
  if (!parsed.success) {
    const isTooLarge = parsed.error.issues.some(
      ({ code, path }) => code === 'too_big' && path.length === 1 && path[0] === 'items',
    );
    return { ok: false, reason: describeIssues(parsed.error, 'batch'), isTooLarge };
  }
  const bytes = utf8Length(canonicalText(bounded(parsed.data.items)));
  if (bytes > MAX_PAGE_BYTES)
    return {
      ok: false,
      reason: `items: expected at most ${MAX_PAGE_BYTES} bytes (1 MiB) in one page, got ${bytes}`,
      isTooLarge: true,
    };
  return { ok: true, batch: parsed.data };
}

/** How many pages the batch has, as far as this one says: one that has no number is all of it. */
export function pagesOf({ page, pages }: Batch): number | null {
  return pages ?? (page === undefined ? 1 : null);
}

/** Every fault of a zod error in one line, each with the field that it is about. */
export function describeIssues(error: z.ZodError, whole: string): string {
  return error.issues.map((issue) => `${issue.path.join('.') || whole}: ${issue.message}`).join('; ');
}

/**
 * What makes two publishes the same batch: lane, page and items, whatever the order of names in them.
 * Who publishes it doesn't, nor does whether the number of pages and items was known already. Works for batches
 * that hold invalid items, too.
 */
export function contentHash(batch: Pick<Batch, 'lane' | 'page' | 'items'>): string {
  return digest([batch.lane, batch.page ?? 0, bounded(batch.items)]);
}

/** Item by item, since what encloses them must not take from the depth that is theirs. */
function bounded(items: readonly unknown[]): Json[] {
  return items.map((item) => boundDepth(item));
}

/** The answer to one position of a publish. */
export type Admission =
  | { position: number; key: string; admission: 'accepted' }
  /** `of` is the position in this batch that the key stands at first; `batch` is another batch that brought it */
  | { position: number; key: string; admission: 'duplicate'; state: ItemState; of?: number; batch?: string }
  | { position: number; key: string; admission: 'conflict'; reason: string; of?: number }
  | { position: number; key: string | null; admission: 'rejected'; reason: string }
  | { position: number; key: string | null; admission: 'pending' };

const named = z.object({ by: z.string(), reason: z.string() });

/** What operators said of a batch as a whole. A memo's field that is null is dropped by the server. */
export const BatchOrdersSchema = z.object({
  /** paused: what is not in the slot waits, and what is started later begins held */
  held: named.nullable().default(null),
  /** what was not started by then never will be */
  discarded: named.nullable().default(null),
});
export type BatchOrders = Readonly<z.infer<typeof BatchOrdersSchema>>;

/** Why an item that is not started yet never will be. */
export function whyDiscarded({ discarded }: BatchOrders): string | undefined {
  if (discarded === null) return undefined;
  return `discarded before it was started, by ${discarded.by}: ${discarded.reason}`;
}

/** The answer to each of them, once every position is answered. */
export interface BatchAnswer extends BatchOrders {
  readonly counts: BatchCounts;
}

/** How an item ended by itself or by an operator; its attempts stay with it. */
export type ItemEnding =
  | Omit<Extract<ItemEnd, { state: 'succeeded' }>, 'attempts'>
  | Omit<Extract<ItemEnd, { state: 'discarded' }>, 'attempts'>;

export function endingOf(end: ItemEnd): ItemEnding {
  const { attempts: _attempts, ...ending } = end;
  return ending;
}

/** A batch at a moment: every position's admission, and where each accepted item stands. */
export interface BatchProgress extends BatchOrders {
  batchId: string;
  lane: string;
  content: string;
  /** false while some position is still `pending` */
  admitted: boolean;
  admissions: Admission[];
  /** by key, of accepted items only */
  states: { [key: string]: ItemState };
  /** by key, of those that have told the batch how they ended: kept here, since items are forgotten before their batch */
  ends: { [key: string]: ItemEnding };
  counts: BatchCounts;
}

/** Counts that add up: published = the admissions, accepted = the ends and what is open. */
export interface BatchCounts {
  published: number;
  accepted: number;
  duplicate: number;
  conflict: number;
  rejected: number;
  pending: number;
  succeeded: number;
  dead: number;
  uncertain: number;
  discarded: number;
  terminated: number;
  open: number;
}

export function countBatch(
  admissions: readonly Admission[],
  states: { [key: string]: ItemState },
): BatchCounts {
  const counts: BatchCounts = {
    published: admissions.length,
    accepted: 0,
    duplicate: 0,
    conflict: 0,
    rejected: 0,
    pending: 0,
    succeeded: 0,
    dead: 0,
    uncertain: 0,
    discarded: 0,
    terminated: 0,
    open: 0,
  };
  for (const { admission } of admissions) counts[admission]++;
  for (const state of Object.values(states)) counts[countedAs(state)]++;
  return counts;
}

function countedAs(state: ItemState) {
  switch (state) {
    case 'waiting':
    case 'sending':
    case 'retrying':
      return 'open';
    default:
      return state;
  }
}
