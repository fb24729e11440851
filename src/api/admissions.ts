import { z } from 'zod';
import type { Admission } from '../domain/batch.ts';
import { ITEM_STATES } from '../domain/item.ts';

export const ItemStateSchema = z.enum(ITEM_STATES);

const position = z.int().min(0).describe('in the batch, from 0');
const of = z
  .int()
  .min(0)
  .exactOptional()
  .describe('the position in this batch at which the key stands first');
const reason = z.string();

/** The answer to one position of a publish. */
export const AdmissionSchema: z.ZodType<Admission> = z
  .discriminatedUnion('admission', [
    z.object({ position, key: z.string(), admission: z.literal('accepted') }),
    z.object({
      position,
      key: z.string(),
      admission: z.literal('duplicate'),
      state: ItemStateSchema.describe('of the item that has the key, at this moment'),
      of,
      batch: z.string().exactOptional().describe('another batch, which brought it'),
    }),
    z.object({ position, key: z.string(), admission: z.literal('conflict'), reason, of }),
    z.object({ position, key: z.string().nullable(), admission: z.literal('rejected'), reason }),
    z.object({ position, key: z.string().nullable(), admission: z.literal('pending') }),
  ])
  .meta({ id: 'Admission', description: 'The answer to one position of a batch' });
