import {
  CancellationScope,
  condition,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { UpdateDefinition } from '@temporalio/common';
import type { DispatchActivities } from '../activities/contract.ts';
import { EvidenceSchema } from '../domain/evidence.ts';
import type { ItemAnswer } from '../domain/orders.ts';
import type { ItemLedger } from './item-ledger.ts';
import * as orders from './item-orders.ts';
import * as messages from './messages.ts';

const { whoCancelled } = proxyActivities<DispatchActivities>({
  summary: 'Who asked to cancel the item',
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
});

/** Takes in what is done to an item, one order after the other. */
export class ItemDesk {
  readonly #item: ItemLedger;
  #busy = false;

  constructor(item: ItemLedger) {
    this.#item = item;
    setHandler(messages.item, () => item.snapshot());
    setHandler(messages.lateAnswer, (evidence) => {
      const parsed = EvidenceSchema.safeParse(evidence);
      if (parsed.success) item.noteLate(parsed.data);
    });
    this.#take(messages.redrive, orders.redrive);
    this.#take(messages.discard, orders.discard);
    this.#take(messages.resolve, orders.resolve);
    this.#take(messages.hold, orders.hold);
    this.#take(messages.release, orders.release);
    this.#take(messages.settle, orders.settle);
  }

  /** Resolves when nobody is about to decide what becomes of the item. */
  async free(): Promise<void> {
    // Of several who wait, the first to go on may be busy again before the next one is.
    while (this.#busy) await condition(() => !this.#busy);
  }

  discardWhenCancelled(scope: CancellationScope): void {
    scope.cancelRequested.catch(() =>
      this.#inTurn(async () => {
        const { workflowId, runId } = workflowInfo();
        await orders.discardCancelled(this.#item, await whoCancelled({ workflowId, runId }));
      }),
    );
  }

  #take<Asked>(definition: UpdateDefinition<ItemAnswer, [Asked]>, order: orders.Order<Asked>): void {
    const item = this.#item;
    setHandler(
      definition,
      (asked) =>
        this.#inTurn(async () => {
          item.turn++;
          order.check(item, asked);
          await order.act(item, asked);
          return item.answer();
        }),
      { validator: (asked) => order.check(item, asked) },
    );
  }

  /** Also while the item is being cancelled: what was begun is finished. */
  async #inTurn<T>(decide: () => Promise<T>): Promise<T> {
    return await CancellationScope.nonCancellable(async () => {
      await this.free();
      this.#busy = true;
      try {
        return await decide();
      } finally {
        this.#busy = false;
      }
    });
  }
}
