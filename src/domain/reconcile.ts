import type { Finding, LookupTask, Receipt } from './delivery.ts';
import type { ItemState } from './item.ts';

/** As many lookups as one `reconcile` workflow carries: its history and its result stay small. */
export const PAGE_LOOKUPS = 200;

/** One item that the upstream is asked about. */
export interface Question {
  readonly task: LookupTask;
  /** epoch ms, by the server's clock: asked earlier, its absence would prove nothing, since a call might still arrive */
  readonly notBeforeMs: number;
}

/** The input of `reconcile`: questions of one lane, by its full name. */
export interface ReconcilePage {
  readonly lane: string;
  readonly questions: readonly Question[];
}

/** What came of comparing one item with the upstream. */
export type Reconciled = { readonly key: string; readonly lane: string } & (
  | { readonly kind: 'settled'; readonly state: 'succeeded' | 'dead' }
  /** no evidence: it stays uncertain */
  | { readonly kind: 'uncertain'; readonly why: string }
  /** its own next attempt, which asks as well, decides; the state is as it was after the lookup */
  | { readonly kind: 'claim'; readonly state: ItemState; readonly finding: Finding }
  /** succeeded here and there */
  | { readonly kind: 'agrees' }
  /** succeeded here, and the upstream said neither yes nor no */
  | { readonly kind: 'unproven'; readonly why: string }
  | Contradiction
  /** nobody can ask its upstream about it */
  | { readonly kind: 'notAskable'; readonly state: ItemState }
  /** somebody else decided about it meanwhile */
  | { readonly kind: 'moved'; readonly why: string }
);

/** Succeeded here, and otherwise there. */
export interface Contradiction {
  readonly kind: 'contradicts';
  readonly here: Receipt;
  readonly there: Exclude<Finding, { kind: 'noEvidence' }>;
}

/** Compares the receipt of an item that succeeded with what the upstream says of it. */
export function compare(
  here: Receipt,
  finding: Finding,
): Contradiction | { kind: 'agrees' } | { kind: 'unproven'; why: string } {
  switch (finding.kind) {
    case 'noEvidence':
      return { kind: 'unproven', why: finding.why };
    case 'absent':
      return { kind: 'contradicts', here, there: finding };
    case 'found': {
      const there = finding.receipt.upstreamId;
      // An answer without an ID can't be told from another one.
      const same = here.upstreamId === null || there === null || here.upstreamId === there;
      return same ? { kind: 'agrees' } : { kind: 'contradicts', here, there: finding };
    }
  }
}
