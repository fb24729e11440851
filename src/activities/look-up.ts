import type { Context } from '@temporalio/activity';
import type { Finding, LookupTask } from '../domain/delivery.ts';
import { type Evidence, describeEvidence } from '../domain/evidence.ts';
import { type LookupReading, lookupVerdict, readLookup } from '../domain/lookup.ts';
import type { CallEnd, Verdict } from '../domain/verdict.ts';
import { GivenBack } from '../lane/gate.ts';
import type { Turn } from '../lane/turns.ts';
import { receiptOf } from './receipt.ts';
import { type JudgedCall, type SlotParts, callInSlot, tryAgain, unsent, whileBeating } from './slot.ts';
import { lookupRequest } from './upstream-request.ts';

/** A lookup that left, and what it proves. */
export interface Asked extends Omit<JudgedCall, 'verdict'> {
  /** what it means for the item; for the lane, also a useless answer says that the upstream is up */
  readonly verdict: Verdict;
  readonly reading: LookupReading;
}

/** Asks the upstream, in our turn. Undefined when the lane no longer let the lookup leave. */
export async function ask(
  parts: SlotParts,
  task: LookupTask,
  of: Pick<Evidence, 'attempt' | 'round'>,
): Promise<Asked | undefined> {
  const read = (end: CallEnd) => readLookup(end, task.key, task.policy.lookup?.keyField ?? 'key');
  const called = await callInSlot(parts, {
    request: lookupRequest(task, parts.config),
    key: task.key,
    of: { ...of, call: 'lookup' },
    judge: (end, retryAfterUsable) => lookupVerdict(end, read(end), retryAfterUsable),
  });
  if (called === undefined) return undefined;
  const reading = read(called.end);
  const useless = reading.kind === 'noEvidence' && called.verdict === 'succeeded';
  const verdict = useless ? 'ambiguous' : called.verdict;
  const ended = reading.kind === 'noEvidence' ? reading.why : called.evidence.ended;
  return { ...called, verdict, evidence: { ...called.evidence, verdict, ended }, reading };
}

/** The activity `lookUp`: asks once, for whoever wants to know. */
export async function lookUp(parts: SlotParts, task: LookupTask, context: Context): Promise<Finding> {
  return await whileBeating(context, task.policy.leaseMs, nothingToHandOn, async () => {
    for (;;) {
      const turn = await waitForTurn(parts, context);
      try {
        const asked = await ask(parts, task, { attempt: context.info.attempt, round: 0 });
        await asked?.stored();
        if (asked !== undefined) return findingOf(asked, parts);
      } finally {
        turn.end();
      }
    }
  });
}

function nothingToHandOn(): undefined {
  return undefined;
}

async function waitForTurn({ gate }: SlotParts, context: Context): Promise<Turn> {
  try {
    return await gate.enter(context.cancellationSignal);
  } catch (error) {
    throw error instanceof GivenBack ? unsent(error.message) : error;
  }
}

function findingOf({ reading, verdict, end, evidence }: Asked, parts: SlotParts): Finding {
  switch (reading.kind) {
    case 'found':
      if (end.kind !== 'answered') throw new TypeError('an unanswered lookup was taken for evidence');
      return {
        kind: 'found',
        receipt: receiptOf(end, parts.config, 'lookup', evidence.attempt, evidence.at),
      };
    case 'absent':
      return { kind: 'absent', at: evidence.at, status: reading.status };
    case 'noEvidence':
      // Nothing was asked yet, as it were: the lane waits, or a person mends its credentials.
      if (verdict === 'throttled' || verdict === 'laneFault')
        throw tryAgain(verdict, describeEvidence(evidence), Math.max(1, Math.ceil(parts.gate.closedForMs())));
      return { kind: 'noEvidence', why: reading.why };
  }
}
