import type { BatchReport } from '../../src/client.ts';
import type { ItemState } from '../../src/domain/item.ts';
import { type Faults, faultsIn } from './account.ts';
import type { Facts } from './facts.ts';

const ADMISSIONS = ['accepted', 'duplicate', 'conflict', 'rejected', 'pending', 'absent'] as const;
/** An item that moves by itself is open. */
const STATES = ['succeeded', 'dead', 'uncertain', 'discarded', 'terminated'] as const;
const SENTENCES_MOST = 30;

/** The sums of an accounting, and how many faults there are of each sort. */
export function reportOf(facts: Facts) {
  const faults = faultsIn(facts);
  const { audit, ...counted } = countEach(faults);
  return {
    published: sum(facts, 'published'),
    byAdmission: Object.fromEntries(ADMISSIONS.map((name) => [name, sum(facts, name)])),
    byState: byState(facts),
    effects: facts.effects.length,
    ...counted,
    audit: audit === 0 ? 'clean' : 'broken',
    says: Object.values(faults).flat().slice(0, SENTENCES_MOST),
    holds: Object.values(faults).every(({ length }) => length === 0),
  };
}

function countEach(faults: Faults): Record<keyof Faults, number> {
  return {
    keysWithTwoEffects: faults.keysWithTwoEffects.length,
    succeededWithoutEffect: faults.succeededWithoutEffect.length,
    effectsWithoutSuccess: faults.effectsWithoutSuccess.length,
    unaccounted: faults.unaccounted.length,
    wrongSums: faults.wrongSums.length,
    wrongAnswers: faults.wrongAnswers.length,
    contradictions: faults.contradictions.length,
    doors: faults.doors.length,
    audit: faults.audit.length,
  };
}

function byState({ items }: Facts): Record<string, number> {
  const inState = (state: ItemState) => items.filter((item) => item.state === state).length;
  const counts = Object.fromEntries(STATES.map((state) => [state, inState(state)]));
  const open = items.length - Object.values(counts).reduce((total, count) => total + count, 0);
  return { ...counts, open };
}

function sum({ batches }: Facts, name: keyof BatchReport['counts']): number {
  return batches.reduce((total, { counts }) => total + counts[name], 0);
}
