import type { Client } from '@temporalio/client';
import {
  type BatchOutcome,
  type ItemAnswer,
  batchOutcome,
  operateBatch,
  operateItem,
  operateLane,
} from '../client.ts';
import type { LaneRecord } from '../domain/lane-record.ts';
import type { Named } from '../workflows/named.ts';
import type { OverrideAsked } from '../workflows/lane-messages.ts';
import type { RedriveAsked, ResolveAsked } from '../workflows/messages.ts';

type OnItem<Asked> = (key: string, asked: Asked) => Promise<ItemAnswer>;
type OnBatch = (batchId: string, asked: Named) => Promise<BatchOutcome>;
type OnLane<Asked> = (lane: string, asked: Asked) => Promise<LaneRecord>;

/** What operators do. Twice the same changes nothing. */
export interface Operate {
  /**
   * Each resolves with where the item stands when it is done.
   *
   * @throws NotFoundError, ItemRefusedError, UnansweredError
   */
  readonly item: {
    /** tries a parked one again under its key */
    readonly redrive: OnItem<RedriveAsked>;
    /** gives one up that is not being sent */
    readonly discard: OnItem<Named>;
    /** closes a parked one as found done */
    readonly resolve: OnItem<ResolveAsked>;
  };
  /**
   * To all that is left of a batch, on all of its pages, item by item; each resolves with what came of it. Broken off,
   * it may be asked for again, and goes on with what is left.
   *
   * @throws NotFoundError, BatchRefusedError, UnansweredError
   */
  readonly batch: {
    /** takes back what is not being sent, until it is resumed */
    readonly pause: OnBatch;
    /** lets items go on where they stood */
    readonly resume: OnBatch;
    /** gives up all that has not ended; what is being sent is refused, and named */
    readonly discard: OnBatch;
  };
  /**
   * Each resolves with the lane's record when it holds for the whole fleet.
   *
   * @throws NotFoundError, LaneRefusedError, UnansweredError
   */
  readonly lane: {
    readonly pause: OnLane<Named>;
    readonly resume: OnLane<Named>;
    readonly override: OnLane<OverrideAsked>;
    readonly clearOverride: OnLane<Named>;
    readonly drain: OnLane<Named>;
  };
}

export function operate(client: Client): Operate {
  return {
    item: {
      redrive: (key, asked) => operateItem.redrive(client, key, asked),
      discard: (key, asked) => operateItem.discard(client, key, asked),
      resolve: (key, asked) => operateItem.resolve(client, key, asked),
    },
    batch: {
      pause: (id, act) => batchOutcome(id, operateBatch.pause(client, id, act)),
      resume: (id, act) => batchOutcome(id, operateBatch.resume(client, id, act)),
      discard: (id, act) => batchOutcome(id, operateBatch.discard(client, id, act)),
    },
    lane: {
      pause: (name, act) => operateLane.pause(client, name, act),
      resume: (name, act) => operateLane.resume(client, name, act),
      override: (name, asked) => operateLane.override(client, name, asked),
      clearOverride: (name, act) => operateLane.clearOverride(client, name, act),
      drain: (name, act) => operateLane.drain(client, name, act),
    },
  };
}
