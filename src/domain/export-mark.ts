import { digest } from './canonical.ts';

/**
 * How far Temporal's lists may be behind. A parked item bears the time at which its workflow task began, and that
 * may run for ten seconds; lists follow within some more.
 */
const LISTS_LAG_MS = 20_000;
/** 64 bits: two of some thousands that are the same by chance would leave one out, about once in 10^12 exports. */
const HASH_LENGTH = 16;

/** An item that came to rest: it ended, or it parked. All times are the server's, in epoch ms. */
export interface Rest {
  readonly key: string;
  readonly runId: string;
  readonly kind: 'ended' | 'parked';
  readonly atMs: number;
}

/** Up to where an export came. The next one goes on from here. */
export interface ExportMark {
  /** the newest time exported; null while nothing was */
  readonly atMs: number | null;
  /** what was exported of the time in which the lists may not have been complete yet: hash, and how long before `atMs` */
  readonly seen: { readonly [hash: string]: number };
}

export const NOTHING_EXPORTED: ExportMark = { atMs: null, seen: {} };

/** The oldest time that may still hold something new. */
export function lookFromMs({ atMs }: ExportMark): number {
  return atMs === null ? 0 : Math.max(0, atMs - LISTS_LAG_MS);
}

/**
 * One export, from a mark up to a time that was in the lists before it began. What becomes visible while it runs
 * is at most as much older than that as lists may be behind, so the next one looks there again, and leaves out what
 * this one has taken.
 */
export class ExportPassage {
  readonly #fromMs: number;
  readonly #untilMs: number;
  /** hash → time */
  readonly #seen: Map<string, number>;
  readonly #atMs: number | null;

  /** @param newestMs the newest time in the lists, between `lookFromMs` and now; null when there was none */
  constructor(mark: ExportMark, newestMs: number | null) {
    this.#fromMs = lookFromMs(mark);
    this.#atMs = mark.atMs === null ? newestMs : Math.max(mark.atMs, newestMs ?? 0);
    this.#untilMs = this.#atMs ?? 0;
    const seenUntilMs = mark.atMs ?? 0;
    this.#seen = new Map(Object.entries(mark.seen).map(([hash, before]) => [hash, seenUntilMs - before]));
  }

  /** Whether this export has to tell of it. Once only: asked again, it says no. */
  takes(rest: Rest): boolean {
    if (rest.atMs < this.#fromMs || rest.atMs > this.#untilMs) return false;
    const hash = hashOf(rest);
    if (this.#seen.has(hash)) return false;
    // The rest is never looked at again.
    if (rest.atMs >= this.#untilMs - LISTS_LAG_MS) this.#seen.set(hash, rest.atMs);
    return true;
  }

  /** From where the next export goes on. Only to be used once all that is to be told was told. */
  mark(): ExportMark {
    const atMs = this.#atMs;
    if (atMs === null) return NOTHING_EXPORTED;
    const kept = [...this.#seen].filter(([, restedMs]) => restedMs >= atMs - LISTS_LAG_MS);
    return { atMs, seen: Object.fromEntries(kept.map(([hash, restedMs]) => [hash, atMs - restedMs])) };
  }
}

function hashOf({ key, runId, kind, atMs }: Rest): string {
  return digest([key, runId, kind, atMs]).slice(0, HASH_LENGTH);
}
