import type { DeadLetter } from '../client.ts';
import { table } from './print.ts';

/** A line each, oldest first, and whom to ask about those of each lane. */
export function describeDeadLetters(letters: readonly DeadLetter[]): string {
  if (letters.length === 0) return 'nothing is parked';
  const rows = letters
    .toSorted((one, other) => one.parkedAt.localeCompare(other.parkedAt))
    .map(({ key, state, lane, owner, batchId, parkedAt, round, reason }) => [
      key,
      state,
      lane,
      owner ?? '-',
      batchId,
      parkedAt,
      String(round),
      reason,
    ]);
  const head = ['key', 'state', 'lane', 'owner', 'batch', 'parked', 'round', 'reason'];
  return `${table(head, rows)}\n${letters.length} parked`;
}
