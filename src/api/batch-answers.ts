import { z } from 'zod';
import type { BatchCounts } from '../domain/batch.ts';
import { AdmissionSchema, ItemStateSchema } from './admissions.ts';

const count = z.int().min(0);

export const PublishedSchema = z
  .object({
    batchId: z.string(),
    answered: z.boolean().describe('false: nobody answered in time; ask again, with the same request'),
    admissions: z.array(AdmissionSchema),
  })
  .meta({ id: 'Published', description: 'What became of a publish. The batch is durable in any case' });

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
    counts: BatchCountsSchema.describe('published = the admissions; accepted = the ends and what is open'),
    workflow: z
      .string()
      .describe("Temporal's status of the batch's own workflow; its items may go on without it"),
    from: z
      .enum(['workflow', 'history'])
      .describe('history: no worker answered, so the answer is put together from its history and its items'),
  })
  .meta({ id: 'Batch', description: 'Where a batch stands' });

export const BatchItemsSchema = z
  .object({
    batchId: z.string(),
    page: z.int().min(0),
    items: z.array(
      z.object({
        admission: AdmissionSchema,
        state: ItemStateSchema.nullable().describe('where the item stands now; null where none was accepted'),
      }),
    ),
    nextPage: z.int().min(0).nullable(),
  })
  .meta({ id: 'BatchItems', description: 'One page of a batch' });
