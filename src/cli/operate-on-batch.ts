import type { Client } from '@temporalio/client';
import { type BatchAct, type BatchOutcome, type ItemOutcome, batchOutcome, operateBatch } from '../client.ts';
import { EXIT, type ExitCode } from './exit.ts';

interface Asked {
  readonly batchId: string;
  readonly act: BatchAct;
  readonly by: string;
  readonly reason: string;
  readonly json: boolean | undefined;
}

/**
 * Tells every item of a batch, and says of each what came of it as soon as that is known: who interrupts it knows
 * what was done, and may type it again.
 */
export async function operateOnBatch(client: Client, { json, ...asked }: Asked): Promise<ExitCode> {
  const { batchId, act, by, reason } = asked;
  const items: ItemOutcome[] = [];
  const told = async function* () {
    for await (const outcome of operateBatch[act](client, batchId, { by, reason })) {
      items.push(outcome);
      if (!json) console.log(describe(outcome));
      yield outcome;
    }
  };
  const { counts } = await batchOutcome(batchId, told(), 0);
  if (json) console.log(JSON.stringify({ ...asked, counts, items }));
  else console.log(`batch ${batchId}, ${act}: ${summaryOf(counts)}`);
  return exitCodeOf(counts);
}

type Counts = BatchOutcome['counts'];

function describe({ key, outcome, state, reason }: ItemOutcome): string {
  const now = outcome === 'done' ? [outcome, state] : [outcome];
  return `${key ?? '-'}: ${now.join(', ')}${reason === null ? '' : `: ${reason}`}`;
}

function summaryOf(counts: Counts): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.map(([outcome, count]) => `${count} ${outcome}`).join(', ') || 'nothing is left of it';
}

function exitCodeOf({ refused, unanswered, pending }: Counts): ExitCode {
  if (refused + pending > 0) return EXIT.itemsRefused;
  return unanswered > 0 ? EXIT.pending : EXIT.ok;
}
