import type { Client } from '@temporalio/client';
import { type ItemAnswer, operateItem, operateLane } from '../client.ts';
import type { LaneRecord } from '../domain/lane-record.ts';
import type { Named } from '../workflows/named.ts';
import type { OverrideAsked } from '../workflows/lane-messages.ts';
import type { RedriveAsked, ResolveAsked } from '../workflows/messages.ts';

type OnItem<Asked> = (key: string, asked: Asked) => Promise<ItemAnswer>;
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
    lane: {
      pause: (name, act) => operateLane.pause(client, name, act),
      resume: (name, act) => operateLane.resume(client, name, act),
      override: (name, asked) => operateLane.override(client, name, asked),
      clearOverride: (name, act) => operateLane.clearOverride(client, name, act),
      drain: (name, act) => operateLane.drain(client, name, act),
    },
  };
}
