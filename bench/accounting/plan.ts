import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import type { LookupScript } from '../../src/dev/upstream/lookup-faults.ts';
import type { Admission } from '../../src/domain/batch.ts';
import type { PublishedItem } from '../../src/domain/item.ts';
import { Draw } from './draw.ts';
import { LOOKUP_FAULTS, POISON, REFUSED_ONCE } from './faults.ts';
import { type Kind, KINDS } from './kinds.ts';

/** One position of a batch, and the admission that it must get. */
export interface Planned {
  readonly item: PublishedItem;
  readonly admission: Exclude<Admission['admission'], 'pending'>;
}

export interface PlannedBatch {
  readonly batchId: string;
  readonly lane: string;
  readonly positions: readonly Planned[];
}

export interface LanePlan {
  readonly kind: Kind;
  /** in the order in which they are published, each when the one before is answered */
  readonly batches: readonly PlannedBatch[];
  /** what befalls some keys for certain; others meet chance */
  readonly faults: FaultScript;
  /** likewise, when it is asked what became of them */
  readonly lookupFaults: LookupScript;
}

const BATCH_LEAST = 5;
const BATCH_MOST = 25;

/** What is published: so many positions in all lanes together, among them repeated, contradictory and invalid ones. */
export function planOf(seed: number, items: number): LanePlan[] {
  return KINDS.map((kind, n) => {
    const share = Math.floor(items / KINDS.length) + (n < items % KINDS.length ? 1 : 0);
    return planLane(new Draw(seed, `plan of ${kind.lane}`), kind, share);
  });
}

function planLane(draw: Draw, kind: Kind, count: number): LanePlan {
  const { lane } = kind;
  const taken: Taken[] = [];
  const faults: FaultScript = {};
  const lookupFaults: LookupScript = {};
  const batches: PlannedBatch[] = [];
  for (let left = count; left > 0;) {
    const size = Math.min(left, draw.between(BATCH_LEAST, BATCH_MOST));
    left -= size;
    const positions = Array.from({ length: size }, () => planPosition(draw, lane, taken));
    batches.push({ batchId: `${lane}-${batches.length}`, lane, positions });
  }
  for (const { key } of taken) {
    const luck = draw.between(0, 99);
    if (luck < 4) faults[key] = POISON;
    else if (luck < 8) faults[key] = REFUSED_ONCE;
    if (draw.between(0, 99) < 20) lookupFaults[key] = [draw.one(LOOKUP_FAULTS)];
  }
  return { kind, batches, faults, lookupFaults };
}

/** An item whose key is taken by having been accepted. */
type Taken = PublishedItem & { readonly key: string };

function planPosition(draw: Draw, lane: string, taken: Taken[]): Planned {
  const luck = draw.between(0, 99);
  if (luck < 6 && taken.length > 0) return { item: draw.one(taken), admission: 'duplicate' };
  if (luck < 10 && taken.length > 0) {
    const item = { ...draw.one(taken), payload: { contradicts: true } };
    return { item, admission: 'conflict' };
  }
  if (luck < 14) return { item: draw.one(INVALID)(lane), admission: 'rejected' };
  const key = `${lane}:${taken.length}`;
  // By its correlation ID an upstream without keys tells in the end whose effect it was.
  const item = { key, payload: { lane, number: taken.length }, correlationId: key };
  taken.push(item);
  return { item, admission: 'accepted' };
}

const INVALID: readonly ((lane: string) => PublishedItem)[] = [
  (lane) => ({ payload: { lane, lacks: 'a key' } }),
  (lane) => ({ key: ` ${lane}:begins with a space`, payload: {} }),
  (lane) => ({ key: `${lane}:of an unknown operation`, operation: 'unrelease', payload: {} }),
  (lane) => ({ key: `${lane}:too precise`, payload: { number: Number.MAX_SAFE_INTEGER + 1 } }),
];
