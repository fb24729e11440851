import type { Client } from '@temporalio/client';
import { operateLane } from '../client.ts';
import type { LaneRecord } from '../domain/lane-record.ts';
import type { Named } from '../workflows/named.ts';
import type { OverrideAsked } from '../workflows/lane-messages.ts';

type OnLane<Asked> = (lane: string, asked: Asked) => Promise<LaneRecord>;

/** What operators do. Twice the same changes nothing. */
export interface Operate {
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
    lane: {
      pause: (name, act) => operateLane.pause(client, name, act),
      resume: (name, act) => operateLane.resume(client, name, act),
      override: (name, asked) => operateLane.override(client, name, asked),
      clearOverride: (name, act) => operateLane.clearOverride(client, name, act),
      drain: (name, act) => operateLane.drain(client, name, act),
    },
  };
}
