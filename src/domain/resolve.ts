import type { Finding, Receipt } from './delivery.ts';

/** What an operator says to have found done. */
export interface Claim {
  readonly by: string;
  readonly reason: string;
  readonly upstreamId: string | null;
  /** ISO 8601 */
  readonly at: string;
  /** the last attempt before */
  readonly attempt: number;
}

export type Judgement = { kind: 'stands'; receipt: Receipt } | { kind: 'contradicted'; why: string };

/**
 * Holds an operator's word that an item is done against the upstream's lookup. Where that is no evidence, the word
 * stands alone.
 *
 * @param finding null where the upstream has no lookup
 */
export function judgeClaim(claim: Claim, finding: Finding | null): Judgement {
  const { by, reason, upstreamId, at, attempt } = claim;
  switch (finding?.kind) {
    case undefined:
    case 'noEvidence': {
      const word = { status: null, upstreamId, replayed: false, at, attempt } as const;
      return { kind: 'stands', receipt: { ...word, foundBy: 'operator', by, reason } };
    }
    case 'absent':
      return {
        kind: 'contradicted',
        why: `receipt: ${by} says that it is done${idOf(upstreamId)}, and the lookup says that it is not (${finding.status})`,
      };
    case 'found': {
      const found = finding.receipt.upstreamId;
      if (upstreamId !== null && found !== null && upstreamId !== found)
        return {
          kind: 'contradicted',
          why: `receipt.upstreamId: ${by} says "${upstreamId}", and the lookup says "${found}"`,
        };
      return {
        kind: 'stands',
        receipt: { ...finding.receipt, upstreamId: found ?? upstreamId, by, reason },
      };
    }
  }
}

function idOf(upstreamId: string | null): string {
  return upstreamId === null ? '' : ` as "${upstreamId}"`;
}
