import type { ItemEnd } from './delivery.ts';
import type { ItemAnswer } from './orders.ts';
import { describeReceipt } from './receipt-text.ts';

/** How an item ended, as a refusal says it. */
export function describeItemEnd(end: ItemEnd): string {
  switch (end.state) {
    case 'succeeded':
      return `it has succeeded: ${describeReceipt(end.receipt)}`;
    case 'discarded':
      return `it was discarded by ${end.by}: ${end.reason}`;
  }
}

/** What an ended item answers to an order. */
export function answerOfEnd(key: string, end: ItemEnd): ItemAnswer {
  const { state, round, order } = end;
  return {
    key,
    state,
    round,
    receipt: state === 'succeeded' ? end.receipt : null,
    reason: state === 'discarded' ? end.reason : null,
    order,
  };
}

/** Whether an item ended by this very order: asked again, it is answered as it was then. */
export function isEndedBy(
  end: ItemEnd,
  kind: string,
  { by, reason }: { by: string; reason: string },
): boolean {
  const { order } = end;
  return (
    (kind === 'discard' || kind === 'resolve') &&
    order?.kind === kind &&
    order.by === by &&
    order.reason === reason
  );
}
