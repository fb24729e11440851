import { z } from 'zod';
import type { BatchReport, ItemOutcome } from '../client.ts';
import type { BatchCounts } from '../domain/batch.ts';
import type { ReportRow } from '../domain/batch-report.ts';
import { ReceiptSchema } from '../domain/delivery.ts';
import { AdmissionSchema, ItemStateSchema } from './admissions.ts';

const NamedSchema = z.object({ by: z.string(), reason: z.string() });
const count = z.int().min(0);

export const PublishedSchema = z
  .object({
    batchId: z.string(),
    answered: z.boolean().describe('false: nobody answered in time; ask again, with the same request'),
    admissions: z.array(AdmissionSchema),
  })
  .meta({ id: 'Published', description: 'What became of a publish. The batch is durable in any case' });

export const UploadedSchema = z
  .object({
    batchId: z.string(),
    answered: z.boolean().describe('false: not every item is answered yet; its pages go on without you'),
    pages: count,
    total: count.describe('how many items it holds'),
    counts: z.object({ accepted: count, duplicate: count, conflict: count, rejected: count, pending: count }),
  })
  .meta({ id: 'Uploaded', description: 'What became of an upload. The batch is durable' });

const BatchCountsSchema: z.ZodType<BatchCounts> = z.object({
  published: count,
  accepted: count,
  duplicate: count,
  conflict: count,
  rejected: count,
  pending: count,
  succeeded: count,
  dead: count,
  uncertain: count,
  discarded: count,
  terminated: count,
  open: count,
});

export const BatchAnswerSchema = z
  .object({
    batchId: z.string(),
    lane: z.string(),
    publisher: z.string().nullable(),
    admitted: z.boolean().describe('false while some position is still pending'),
    page: count,
    pages: count.nullable().describe('how many there are; null: not told yet'),
    counts: BatchCountsSchema.describe('published = the admissions; accepted = the ends and what is open'),
    workflow: z
      .string()
      .describe("Temporal's status of the batch's own workflow; its items may go on without it"),
    failure: z
      .string()
      .nullable()
      .describe('why its workflow failed: refused as a whole, it is pending until it is published again'),
    from: z
      .enum(['workflow', 'history'])
      .describe('history: no worker answered, so the answer is put together from its history and its items'),
  })
  .meta({ id: 'Batch', description: 'Where a batch stands' });

const pages = count.nullable().describe('null: not told yet');

const RowSchema: z.ZodType<ReportRow> = z
  .object({
    page: count,
    position: count.describe('in its page, from 0'),
    key: z.string().nullable(),
    admission: z.enum(['accepted', 'duplicate', 'conflict', 'rejected', 'pending']),
    state: ItemStateSchema.nullable().describe("where the key's item stands now; null where there is none"),
    receipt: ReceiptSchema.nullable(),
    by: z.string().nullable().describe('who discarded or resolved it'),
    reason: z.string().nullable(),
  })
  .meta({ id: 'Row', description: 'What became of one position of a batch' });

export const BatchItemsSchema = z
  .object({ batchId: z.string(), page: count, pages, items: z.array(RowSchema) })
  .meta({ id: 'BatchItems', description: 'One page of a batch' });

export const BatchReportSchema: z.ZodType<BatchReport> = z
  .object({
    batchId: z.string(),
    lane: z.string(),
    owner: z.string().nullable().describe('of the lane: whom to ask about what is parked'),
    publisher: z.string().nullable(),
    failure: z.string().nullable().describe('why one of its pages was refused as a whole'),
    held: NamedSchema.nullable().describe('who paused it, and why'),
    discarded: NamedSchema.nullable().describe('who discarded what was left of it, and why'),
    extent: z.object({ pages, arrived: count, absentPages: z.array(count), total: pages }),
    counts: z.object({
      published: count,
      accepted: count,
      duplicate: count,
      conflict: count,
      rejected: count,
      pending: count,
      absent: count.describe('in pages that never arrived'),
      succeeded: count,
      parked: count,
      discarded: count,
      terminated: count,
      open: count,
    }),
    addsUp: z.boolean(),
    faults: z.array(z.string()).describe('what keeps it from adding up'),
    drainsInMs: z.number().nullable(),
    rows: z.array(RowSchema),
  })
  .meta({ id: 'BatchReport', description: 'An accounting of a batch over all of its pages' });

const OutcomeSchema: z.ZodType<ItemOutcome> = z.object({
  page: count,
  position: count,
  key: z.string().nullable(),
  outcome: z
    .enum(['done', 'ended', 'refused', 'unanswered', 'pending'])
    .describe(
      'refused: e.g. it is being sent; unanswered: no worker; pending: not started, and never will be',
    ),
  state: ItemStateSchema.nullable(),
  reason: z.string().nullable(),
});

export const BatchOrderSchema = z
  .object({
    batchId: z.string(),
    counts: z.object({ done: count, ended: count, refused: count, unanswered: count, pending: count }),
    notDone: z.array(OutcomeSchema).describe('at most 500 of those for which it does not hold'),
  })
  .meta({ id: 'BatchOrder', description: 'What came of what was done to a batch, by item' });
