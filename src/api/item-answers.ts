import { z } from 'zod';
import type { ItemRecord } from '../client.ts';
import { AttemptsSchema } from '../domain/attempts.ts';
import { EvidenceSchema } from '../domain/evidence.ts';
import { ReceiptSchema } from '../domain/delivery.ts';
import { ItemStateSchema } from './admissions.ts';

const instant = z.string().describe('ISO 8601');

/** All that is known of an item, with evidence. */
export const ItemAnswerSchema: z.ZodType<ItemRecord> = z
  .object({
    key: z.string(),
    state: ItemStateSchema,
    lane: z.string(),
    partition: z.string().nullable(),
    operation: z.string(),
    batchId: z.string(),
    position: z.int().min(0),
    publisher: z.string().nullable(),
    correlationId: z.string().nullable(),
    fingerprint: z.string().describe('SHA-256 of what makes the operation'),
    version: z.union([z.string(), z.int()]).nullable(),
    admittedAt: instant,
    attempts: AttemptsSchema.shape.byVerdict.describe('how many ended with each verdict'),
    budgetLeft: z.int().min(0).nullable().describe('null: no limit'),
    nextEligibleAt: instant.nullable().describe('null when it is being tried, or never will be by itself'),
    sender: z.object({ identity: z.string(), leaseUntil: instant }).nullable(),
    receipt: ReceiptSchema.nullable(),
    reason: z.string().nullable(),
    evidence: EvidenceSchema.nullable().describe('of its newest call'),
  })
  .meta({ id: 'Item', description: 'All that is known of an item, with evidence' });
