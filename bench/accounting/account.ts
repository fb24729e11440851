import type { BatchReport, ItemState } from '../../src/client.ts';
import type { EffectFact, Facts, ItemFact } from './facts.ts';
import { KINDS } from './kinds.ts';

/** Each fault in a sentence, by the promise that it breaks. */
export interface Faults {
  readonly keysWithTwoEffects: readonly string[];
  readonly succeededWithoutEffect: readonly string[];
  /** where the upstream takes keys; elsewhere a person may have given up what the upstream did */
  readonly effectsWithoutSuccess: readonly string[];
  /** items that have not ended or of which nothing is known, and effects that nobody asked for */
  readonly unaccounted: readonly string[];
  /** batches whose sums don't add up, or that say otherwise than their items */
  readonly wrongSums: readonly string[];
  readonly wrongAnswers: readonly string[];
  readonly contradictions: readonly string[];
  readonly doors: readonly string[];
  readonly audit: readonly string[];
}

/** Compares what onelane says with what the upstreams did. */
export function faultsIn({ batches, items, effects, ...told }: Facts): Faults {
  const effectsOf = countEffects(effects);
  const stateOf = new Map(items.map((item) => [idOf(item), item.state]));
  const done = (item: ItemFact) => effectsOf.get(idOf(item)) ?? 0;
  return {
    keysWithTwoEffects: [...effectsOf]
      .filter(([, count]) => count > 1)
      .map(([id, count]) => `${id}: done ${count} times, and is ${stateOf.get(id)}`),
    succeededWithoutEffect: items
      .filter((item) => item.state === 'succeeded' && done(item) === 0)
      .map((item) => `${idOf(item)}: succeeded, but was never done`),
    effectsWithoutSuccess: items
      .filter((item) => takesKeys(item.lane) && done(item) > 0 && item.state !== 'succeeded')
      .map((item) => `${idOf(item)}: was done, but is ${item.state}`),
    unaccounted: [
      ...items.filter(({ state }) => !hasEnded(state)).map((item) => `${idOf(item)}: is ${item.state}`),
      ...[...effectsOf.keys()].filter((id) => !stateOf.has(id)).map((id) => `${id}: done, but not accepted`),
    ],
    wrongSums: batches.flatMap((batch) => sumFaults(batch, stateOf)),
    ...told,
  };
}

/** One name for an item and for its effect, whatever the keys of other lanes. */
function idOf({ lane, key }: EffectFact): string {
  return `${lane} ${key}`;
}

function countEffects(effects: readonly EffectFact[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const effect of effects) counts.set(idOf(effect), (counts.get(idOf(effect)) ?? 0) + 1);
  return counts;
}

function takesKeys(lane: string): boolean {
  return KINDS.some((kind) => kind.lane === lane && kind.keyWindow !== null);
}

function hasEnded(state: ItemState | null): boolean {
  return state === 'succeeded' || state === 'discarded' || state === 'terminated';
}

function sumFaults(
  { batchId, lane, faults, rows }: BatchReport,
  stateOf: ReadonlyMap<string, ItemState | null>,
): string[] {
  return [
    ...faults.map((fault) => `${batchId}: ${fault}`),
    ...rows.flatMap(({ key, admission, state }) => {
      if (admission !== 'accepted' || key === null) return [];
      const now = stateOf.get(idOf({ lane, key }));
      return now === state ? [] : [`${batchId}: calls ${key} ${state}, which is ${now}`];
    }),
  ];
}
