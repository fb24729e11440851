import { z } from 'zod';
import { VERDICTS } from '../domain/verdict.ts';

const atMs = z.number().describe("epoch ms, by the server's clock");
const ActSchema = z.object({ by: z.string(), reason: z.string(), atMs });
const LimitSchema = z.object({ requests: z.int().min(0), perMs: z.number() });

const HolderSchema = z.object({
  process: z.string(),
  host: z.string(),
  fingerprint: z.string().describe('of the configuration that it holds the lane by'),
  leaseMs: z.number(),
  limit: LimitSchema,
  maxInFlight: z.int().min(0),
  sinceMs: atMs,
});

/** What is durable about a lane, as far as it concerns who looks at it. */
export const LaneRecordSchema = z
  .object({
    lane: z.string(),
    partition: z.string().nullable(),
    holder: HolderSchema.nullable(),
    closedUntilMs: atMs,
    closedBecause: z.string(),
    paused: ActSchema.nullable(),
    draining: ActSchema.nullable(),
    override: ActSchema.extend({
      requests: z.int().min(0).nullable(),
      maxInFlight: z.int().min(0).nullable(),
    }).nullable(),
    tallies: z.record(z.enum(VERDICTS), z.int().min(0)).describe('calls by verdict, of all ended holds'),
    takeovers: z.int().min(0),
    handovers: z.int().min(0),
  })
  .meta({ id: 'LaneRecord', description: 'What is durable about a lane' });

export const LaneAnswerSchema = z
  .object({
    name: z.string(),
    state: z
      .enum(['open', 'closed', 'paused', 'unheld', 'unknown'])
      .describe('unheld: nobody stands by. unknown: no worker answered'),
    record: LaneRecordSchema.nullable().describe('null when no worker answered'),
    leaseAgeMs: z.number().nullable(),
    callsInWindow: z.int().min(0).nullable(),
    limit: LimitSchema.nullable(),
    queued: z.int().min(0).describe('items that a holder could take now'),
    oldestEligibleMs: z.number().nullable(),
    open: z.int().min(0).describe('items that are neither ended nor parked'),
    parked: z.int().min(0),
    drainsInMs: z.number().nullable(),
  })
  .meta({ id: 'Lane', description: 'Where a lane stands' });
