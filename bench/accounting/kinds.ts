import type { Mode } from '../../src/dev/upstream/records.ts';
import type { Quota } from '../../src/dev/upstream/window.ts';

/** A kind of upstream, by what it does about repeated keys. Each has a lane and a sample upstream of its own. */
export interface Kind {
  /** of its lane */
  readonly lane: string;
  readonly mode: Mode;
  /** for how long it keeps idempotency keys; null: it takes none */
  readonly keyWindow: string | null;
  /** it can be asked by key what became of an item */
  readonly lookup: boolean;
}

export const KINDS: readonly Kind[] = [
  { lane: 'keys', mode: 'keys', keyWindow: '24h', lookup: false },
  // Shorter than some items are retried for, so that the upstream has to be asked.
  { lane: 'keys-and-lookup', mode: 'keys', keyWindow: '20s', lookup: true },
  { lane: 'lookup', mode: 'lookup', keyWindow: null, lookup: true },
  { lane: 'neither', mode: 'neither', keyWindow: null, lookup: false },
];

/** So slow that an accounting is still at work when the last process is killed. */
export const QUOTA: Quota = { requests: 5, perMs: 1_000 };
