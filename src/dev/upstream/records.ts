import { z } from 'zod';

/** What the upstream did, once per row. */
export const effectRecord = z.object({
  /** `eff_` and a UUID; the upstream's own name for what it did */
  id: z.string(),
  /** the client's name for it; null when it gave none */
  key: z.string().nullable(),
  method: z.string(),
  /** as requested, query included */
  path: z.string(),
  /** SHA-256 of the body's bytes, hex */
  bodySha256: z.string(),
  /** the body, read as UTF-8 */
  body: z.instanceof(Uint8Array).transform((bytes) => Buffer.from(bytes).toString('utf8')),
  /** wall clock, milliseconds since 1970 */
  atMs: z.number(),
});
export type EffectRecord = z.output<typeof effectRecord>;
export type NewEffect = Omit<EffectRecord, 'body'> & { readonly body: Uint8Array };

/** An operation whose request headers came, answered or not. */
export const arrivalRecord = z.object({
  /** from 1, in order of arrival, across restarts */
  sequence: z.number(),
  /** the server process's run; monotonic times of two runs don't compare */
  run: z.string(),
  /** monotonic, milliseconds */
  monotonicMs: z.number(),
  /** wall clock, milliseconds since 1970 */
  wallMs: z.number(),
  key: z.string().nullable(),
  method: z.string(),
  path: z.string(),
  correlationId: z.string().nullable(),
  /** requests open at this arrival, this one included */
  openRequests: z.number(),
  /** turned away by the quota; such an arrival takes no fault from the script */
  overQuota: z.union([z.literal(0), z.literal(1)]).transform((flag) => flag === 1),
  /** what the script or chance did to it */
  fault: z.string().nullable(),
  /** null when the body never came whole */
  bodySha256: z.string().nullable(),
  /** null when it was never answered */
  status: z.number().nullable(),
  /** monotonic, when the answer was sent or the client closed; null while open, or when the upstream died first */
  endedMs: z.number().nullable(),
});
export type ArrivalRecord = z.output<typeof arrivalRecord>;
/** What is known when the request's headers are there. */
export type NewArrival = Omit<ArrivalRecord, 'sequence' | 'bodySha256' | 'status' | 'endedMs'>;

/** `keys`: one effect per key, enforced. `lookup`: asked by key, not enforced. `neither`: no help at all. */
export const MODES = ['keys', 'lookup', 'neither'] as const;
export type Mode = (typeof MODES)[number];
