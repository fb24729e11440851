import {
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { DispatchActivities, TakenBack } from '../activities/contract.ts';
import type { CallOutcome, CallTask } from '../domain/delivery.ts';
import { settleCut } from '../domain/settle.ts';
import { laneActivities } from './lane-activities.ts';

const { takeBack } = proxyActivities<DispatchActivities>({
  summary: "Takes the item's call out of its lane's queue",
  // It waits for a call in flight, and begins again where it was cut off.
  startToCloseTimeout: '1m',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
});

/** How a call ended: for good, or taken out of the queue. */
export type CallEnding = CallOutcome | Extract<TakenBack, { kind: 'takenBack' }>;

/**
 * The activity that brings an item to its end or to the park, with all its attempts. It can be taken back as long as
 * it is not being sent: from outside, since while it waits or backs off the server alone knows its account.
 */
export class UpstreamCall {
  readonly #task: CallTask;
  readonly #scope = new CancellationScope();
  #taken: Extract<TakenBack, { kind: 'takenBack' }> | undefined;
  readonly ended: Promise<CallEnding>;

  constructor(task: CallTask) {
    this.#task = task;
    this.ended = this.#end();
  }

  get #activities() {
    const { lane, policy, method, path } = this.#task;
    return laneActivities(lane, policy, `${method} ${path} in lane ${lane}`);
  }

  async #end(): Promise<CallEnding> {
    try {
      return await this.#scope.run(() => this.#activities.callUpstream(this.#task));
    } catch (error) {
      if (this.#taken === undefined) throw error;
      if (neverStarted(error)) return this.#taken;
      // Between being taken back and being cancelled an attempt has started after all, and nobody kept its account.
      const { policy, round } = this.#task;
      return { ...this.#taken, attempts: settleCut(this.#taken.attempts, round, policy, Date.now()) };
    }
  }

  /** @param mayWait for a call that is being sent; then `sending` is never the answer */
  async takeBack({ mayWait }: { mayWait: boolean }): Promise<TakenBack['kind']> {
    const { workflowId, runId } = workflowInfo();
    const { policy, account, round } = this.#task;
    const taken = await takeBack({ workflowId, runId, policy, account, round, mayWait });
    if (taken.kind === 'takenBack') {
      this.#taken = taken;
      this.#scope.cancel();
    }
    return taken.kind;
  }
}

/** The server's word for an activity that was cancelled while no worker had it. */
const NOT_STARTED = 'ACTIVITY_ID_NOT_STARTED';

function neverStarted(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof CancelledFailure &&
    error.cause.details.includes(NOT_STARTED)
  );
}
