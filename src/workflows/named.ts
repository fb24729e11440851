import { ApplicationFailure } from '@temporalio/workflow';

/** Who does something, and why. Both are kept. */
export interface Named {
  readonly by: string;
  readonly reason: string;
}

/** Kept in histories and lists, and shown in a line. */
const LONGEST = { by: 255, reason: 1_000 } as const;

/** How what is done to a lane, an item or a batch is refused. */
type Refusal = 'LaneRefused' | 'ItemRefused' | 'BatchRefused';

/** Refuses what nobody answers for. */
export function checkNamed({ by, reason }: Named, type: Refusal): void {
  checkText('by', by, 'who does this', type);
  checkText('reason', reason, 'why', type);
}

function checkText(name: 'by' | 'reason', text: unknown, expected: string, type: Refusal): void {
  if (typeof text !== 'string' || text.trim() === '')
    throw ApplicationFailure.nonRetryable(`${name}: expected ${expected}, got nothing`, type);
  if (text.length > LONGEST[name])
    throw ApplicationFailure.nonRetryable(
      `${name}: expected at most ${LONGEST[name]} characters, got ${text.length}`,
      type,
    );
}
