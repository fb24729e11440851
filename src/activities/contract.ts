/**
 * The outside world as workflows see it. Free of Node, so that workflows can import it.
 */
import type { DrainedLanes, KeyHolder } from '../domain/admission.ts';
import type { Attempts } from '../domain/attempts.ts';
import type { BatchOrders } from '../domain/batch.ts';
import type { CallOutcome, CallTask, Finding, LookupTask } from '../domain/delivery.ts';
import type { Claimant, HoldReport, LaneView, LastHold } from '../domain/lane-record.ts';
import type { DeliveryPolicy, LanePolicy } from '../domain/policy.ts';
import type { Firing, Window, WindowPublished } from '../domain/window.ts';

/** Run by every worker that dispatches. */
export interface DispatchActivities {
  /**
   * The lane's policy, and what an earlier run of the same batch was dispatched by.
   *
   * @throws ApplicationFailure of type `UnknownLane`, not retryable
   */
  prepareDispatch(request: { lane: string; batch: string; runId: string }): Promise<DispatchPlan>;
  /** Opens the lanes that items are about to wait in, by their full names, and says which take nothing in any more. */
  openLanes(names: string[]): Promise<DrainedLanes>;
  /** Who holds each key, in the order of the keys. */
  lookUpKeys(keys: string[]): Promise<KeyHolder[]>;
  /**
   * Takes an item's call out of its lane's queue, for good, or says that it is being sent, or has ended by itself. What
   * it took back can't begin any more; it is to be cancelled by its workflow.
   */
  takeBack(request: TakeBack): Promise<TakenBack>;
  /** The identity in the newest request to cancel an item, and its reason, read from its history. */
  whoCancelled(item: { workflowId: string; runId: string }): Promise<{ by: string; reason: string }>;
}

export interface TakeBack {
  workflowId: string;
  runId: string;
  /** of the call's task: without heartbeat details, its account is still this one */
  account: Attempts | null;
  policy: DeliveryPolicy;
  round: number;
  /** true: waits for a call that is being sent, and takes back what it does not end */
  mayWait: boolean;
}

export type TakenBack =
  /** out of the queue, for good; `retryInMs` is what was left of its backoff */
  { kind: 'takenBack'; attempts: Attempts; retryInMs: number } | { kind: 'sending' } | { kind: 'ended' };

export interface DispatchPlan {
  policy: LanePolicy;
  /** of an earlier run of the same page */
  earlier: BatchMemo | null;
  /** what operators have said of the batch, to that run or to other pages */
  orders: BatchOrders;
}

/** What a dispatchBatch workflow's memo says once it knows its lane's policy; beside it, `BatchOrders`. */
export interface BatchMemo {
  /** `contentHash` of the batch */
  content: string;
  /** `digest` of the lane's key template: keys derived otherwise would be other operations */
  keyTemplate: string;
}

/** Run only by a lane's holder, on the lane's own task queue. */
export interface LaneActivities {
  callUpstream(task: CallTask): Promise<CallOutcome>;
  /** Asks the upstream once whether an item's work was done, in the lane's slot and at its pace. */
  lookUp(task: LookupTask): Promise<Finding>;
}

/** Run by whoever runs lane workflows. */
export interface LaneDeskActivities {
  /** Whether no unparked item of the lane is open, and nobody waits for a lookup in it. */
  laneIsIdle(name: string): Promise<boolean>;
}

/** Run by every process that stands by for a lane. */
export interface StandbyActivities {
  /** Fails, to be asked again elsewhere, in a process that is stopping or has not ended an earlier hold of this lane. */
  claimLane(name: string): Promise<Claimant>;
}

/** Run by one process, on its own task queue. */
export interface ProcessActivities {
  /** The lease itself: it lasts as long as this activity beats. */
  holdLane(order: HoldOrder): Promise<HoldReport>;
  /** Resolves when the change holds, and no call that left before it is open any more. */
  changeLane(change: LaneChange): Promise<void>;
}

export interface HoldOrder {
  name: string;
  epoch: number;
  leaseMs: number;
  view: LaneView;
  last: LastHold;
}

export interface LaneChange {
  name: string;
  epoch: number;
  view: LaneView;
}

/** Run by every worker that dispatches. */
export interface ScheduleActivities {
  /**
   * The window that a firing closes, or what an earlier run of the firing has published of it.
   *
   * @throws ApplicationFailure of type `NoWindow`, not retryable, when the schedule doesn't fire at that time
   */
  findWindow(firing: {
    schedule: string;
    firedAt: string;
    workflowId: string;
    runId: string;
  }): Promise<FoundWindow>;
  /**
   * Asks the source for all items of the window, and only when they are all there publishes them.
   *
   * @throws ApplicationFailure that says why; not retryable where asking again would not help
   */
  publishWindow(task: WindowTask): Promise<WindowPublished>;
}

export type FoundWindow =
  { kind: 'open'; window: Window } | { kind: 'published'; published: WindowPublished };

export interface WindowTask extends Firing {
  schedule: string;
  window: Window;
}
