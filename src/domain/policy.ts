import { z } from 'zod';
import { VERDICTS } from './verdict.ts';

export const HTTP_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;

const OperationSchema = z.object({
  method: z.enum(HTTP_METHODS),
  /** path template below the upstream's base URL, e.g. `/packages/{payload.package}/releases` */
  path: z.string(),
});

/** How one item is delivered. Every item carries its own copy, so that a changed file changes no promise. */
export const DeliveryPolicySchema = z.object({
  /** null: the upstream takes no idempotency keys, so an ambiguous attempt is never repeated */
  idempotency: z.object({ header: z.string(), windowMs: z.number() }).nullable(),
  /** null: the upstream can't be asked whether it did something; `keyField` is where its answer repeats the key, dotted */
  lookup: z.object({ keyField: z.string() }).nullable(),
  /** statuses that this upstream means differently, e.g. `{ '202': 'ambiguous' }` */
  verdicts: z.record(z.string(), z.enum(VERDICTS)),
  /** from a request's first byte until its whole answer is there */
  timeoutMs: z.number(),
  /** how long a worker may go unheard before its item is eligible again */
  leaseMs: z.number(),
  /** the budget counts attempts that ended unavailable or ambiguous; the backoff between them has full jitter */
  retry: z.object({ budget: z.int().nullable(), initialMs: z.number(), maxMs: z.number() }),
  deadlineMs: z.number().nullable(),
  /** the longest time that an item's attempt may rightly sit in the slot before its call leaves */
  slotWaitMs: z.number(),
});

/**
 * What a lane's configuration says about an item, without anything secret: it is stored in histories, and
 * read from them again. Durations are milliseconds. `null` is a `none` that somebody wrote out.
 */
export const LanePolicySchema = z.object({
  lane: z.string(),
  owner: z.string(),
  operations: z.record(z.string(), OperationSchema),
  /** e.g. `release:{payload.package}:{payload.version}`; null when every item brings its own key */
  keyTemplate: z.string().nullable(),
  /** path template of the lookup, e.g. `/effects/{key}`; null where there is none */
  lookupPath: z.string().nullable(),
  /** null: one lane for all */
  partitionBy: z
    .object({
      /** `partition`, or a dotted path such as `payload.tenant` */
      field: z.string(),
      /** those that there are; null when any will do */
      names: z.array(z.string()).nullable(),
    })
    .nullable(),
  delivery: DeliveryPolicySchema,
});

export type HttpMethod = (typeof HTTP_METHODS)[number];
export type Operation = Readonly<z.infer<typeof OperationSchema>>;
export type DeliveryPolicy = Readonly<z.infer<typeof DeliveryPolicySchema>>;
export type LanePolicy = Readonly<z.infer<typeof LanePolicySchema>>;

/** The quota as it is used: `requests` is already our share of what the upstream grants. */
export interface Limit {
  readonly requests: number;
  readonly perMs: number;
  /** calls that may leave back to back after a quiet time */
  readonly burst: number;
  /** declared by the upstream's neighbourhood: a request arrives at most this long after it left */
  readonly arrivalWithinMs: number | null;
}

/** Everything about a lane that a worker process knows, secrets included. Never leaves the process. */
export interface LaneConfig {
  readonly policy: LanePolicy;
  readonly baseUrl: string;
  readonly headers: { readonly [name: string]: string };
  /** values expanded from the environment, to be blanked wherever an answer is stored */
  readonly secrets: readonly string[];
  /** by partition: its own headers, over those of the lane */
  readonly partitions: { readonly [partition: string]: Pick<LaneConfig, 'headers' | 'secrets'> };
  readonly limit: Limit;
  readonly maxInFlight: number;
  readonly retryAfterMaxMs: number;
  /** dotted path of the upstream's own ID in its answer, e.g. `id` */
  readonly receiptId: string;
  readonly dedupWindowMs: number;
  /** how long a partition's lane stays open without an item */
  readonly idleAfterMs: number;
  /** of all of the above but what is secret: tells replicas with different files apart */
  readonly fingerprint: string;
}

/**
 * The configuration of one lane of a partitioned one: its own credential, everything else shared.
 *
 * Undefined where this configuration knows no such lane: whether a lane is partitioned, and by which names, may
 * have changed since the lane was opened. Calling all the same would use another's credential, or spend one
 * quota from two lanes.
 */
export function configOfPartition(config: LaneConfig, partition: string | null): LaneConfig | undefined {
  const { partitionBy } = config.policy;
  if (partition === null || partitionBy === null)
    return partition === null && partitionBy === null ? config : undefined;
  if (partitionBy.names === null) return config;
  const own = Object.hasOwn(config.partitions, partition) ? config.partitions[partition] : undefined;
  return (
    own && {
      ...config,
      headers: { ...config.headers, ...own.headers },
      secrets: [...config.secrets, ...own.secrets],
    }
  );
}
