import { z } from 'zod';

/**
 * How an upstream that is a TypeScript function answers: as an HTTP API would, so that the lane's table of
 * verdicts holds for it, too. The functions below write the usual ones.
 */
export interface UpstreamAnswer {
  /** e.g. 201; see docs/library.md for what each means */
  readonly status: number;
  /** e.g. `{ 'retry-after': '30' }`, in any case */
  readonly headers?: Readonly<Record<string, string>>;
  /** kept as evidence (the first 2 KiB), and searched for the upstream's own ID; text, or what JSON carries */
  readonly body?: unknown;
}

export const UpstreamAnswerSchema = z.object({
  status: z.int().min(100).max(599),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
});

/**
 * It is done.
 *
 * @param receipt `id` is the upstream's own; `replayed` when it was done earlier, under this very key
 */
export function succeeded(receipt: { id?: string; replayed?: boolean } = {}): UpstreamAnswer {
  return {
    status: 200,
    headers: receipt.replayed === true ? { 'idempotent-replayed': 'true' } : {},
    body: receipt.id === undefined ? {} : { id: receipt.id },
  };
}

/** The quota is used up: the whole lane waits for so long, or as the lane backs off by itself. Spends no budget. */
export function throttled({ afterMs }: { afterMs?: number } = {}): UpstreamAnswer {
  const headers =
    afterMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(afterMs / 1000))) };
  return { status: 429, headers, body: '' };
}

/** It was surely not done, and may be tried again. */
export function unavailable(why: string): UpstreamAnswer {
  return { status: 503, body: why };
}

/** It will never be done as it is: the item parks as dead. */
export function refused(why: string): UpstreamAnswer {
  return { status: 422, body: why };
}

/** Nothing can be done for any item, e.g. for want of a valid credential: the lane pauses itself. */
export function laneFault(why: string): UpstreamAnswer {
  return { status: 401, body: why };
}
