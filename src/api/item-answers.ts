import { z } from 'zod';
import type { ItemRecord } from '../client.ts';
import { AttemptsSchema } from '../domain/attempts.ts';
import { EvidenceSchema } from '../domain/evidence.ts';
import { ItemAnswerSchema as ItemStandingSchema, OrderSchema } from '../domain/orders.ts';
import { DeliverySchema, ReceiptSchema } from '../domain/delivery.ts';
import { ItemStateSchema } from './admissions.ts';

const instant = z.string().describe('ISO 8601');

/** All that is known of an item, with evidence. */
export const ItemRecordSchema: z.ZodType<ItemRecord> = z
  .object({
    key: z.string(),
    state: ItemStateSchema,
    lane: z.string(),
    owner: z.string().nullable().describe('of the lane: whom to ask'),
    partition: z.string().nullable(),
    operation: z.string(),
    batchId: z.string(),
    position: z.int().min(0),
    publisher: z.string().nullable(),
    correlationId: z.string().nullable(),
    fingerprint: z.string().describe('SHA-256 of what makes the operation'),
    version: z.union([z.string(), z.int()]).nullable(),
    admittedAt: instant,
    parkedAt: instant.nullable(),
    endedAt: instant.nullable(),
    round: z.int().min(0).describe('0 as it was published, n after its nth redrive'),
    attempts: AttemptsSchema.shape.byVerdict.describe('how many ended with each verdict'),
    lookups: z.int().min(0).describe('how often the upstream was asked whether it was done'),
    unresolved: z.boolean().describe('an attempt may have been applied, and nothing has told yet'),
    budgetLeft: z.int().min(0).nullable().describe('null: no limit'),
    nextEligibleAt: instant.nullable().describe('null when it is being tried, or never will be by itself'),
    sender: z.object({ identity: z.string(), leaseUntil: instant }).nullable(),
    held: DeliverySchema.shape.held.describe('its batch is paused'),
    receipt: ReceiptSchema.nullable(),
    reason: z.string().nullable().describe('why it is parked, was discarded, or its newest attempt failed'),
    by: z.string().nullable().describe('who discarded it, or found it done'),
    orders: z.array(OrderSchema).describe('what was done to it, oldest first'),
    evidence: EvidenceSchema.nullable().describe('of its newest call'),
    trail: z.array(EvidenceSchema).describe('of its first and of its last 20 calls, oldest first'),
    late: z
      .array(EvidenceSchema)
      .describe('answers to calls whose worker had lost the lane; they changed nothing'),
  })
  .meta({ id: 'Item', description: 'All that is known of an item, with evidence' });

/** The answer to what is done to an item. */
export const ItemStandingAnswerSchema = ItemStandingSchema.meta({
  id: 'ItemStanding',
  description: 'Where an item stands, now that what was asked is done',
});
