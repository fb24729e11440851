/**
 * The outside world as workflows see it. Free of Node, so that workflows can import it.
 */
import type { KeyHolder } from '../domain/admission.ts';
import type { CallOutcome, CallTask } from '../domain/delivery.ts';
import type { LanePolicy } from '../domain/policy.ts';

/** Run by every worker that dispatches. */
export interface DispatchActivities {
  /**
   * The lane's policy, and what an earlier run of the same batch was dispatched by.
   *
   * @throws ApplicationFailure of type `UnknownLane`, not retryable
   */
  prepareDispatch(request: { lane: string; batch: string; runId: string }): Promise<DispatchPlan>;
  /** Who holds each key, in the order of the keys. */
  lookUpKeys(keys: string[]): Promise<KeyHolder[]>;
}

export interface DispatchPlan {
  policy: LanePolicy;
  earlier: BatchMemo | null;
}

/** What a dispatchBatch workflow's memo says once it knows its lane's policy. */
export interface BatchMemo {
  /** `contentHash` of the batch */
  content: string;
  /** `digest` of the lane's key template: keys derived otherwise would be other operations */
  keyTemplate: string;
}

/** Run only by a lane's holder, on the lane's own task queue. */
export interface LaneActivities {
  callUpstream(task: CallTask): Promise<CallOutcome>;
}
