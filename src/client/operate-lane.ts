import { type Client, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, type UpdateDefinition } from '@temporalio/common';
import { laneWorkflowId } from '../domain/ids.ts';
import type { LaneRecord } from '../domain/lane-record.ts';
import * as messages from '../workflows/lane-messages.ts';
import type { Named } from '../workflows/named.ts';
import { LaneRefusedError, NotFoundError, UnansweredError } from './errors.ts';
import { isUnanswered } from './unanswered.ts';

/** A call in flight has to end before a pause is answered, and a lost holder's lease before it is known to be lost. */
const ANSWERED_WITHIN_MS = 30_000;

/**
 * What an operator does to a lane, each under a name and for a reason, which the lane keeps. Each resolves with
 * the lane's record when it holds: after `pause`, no call is open and none leaves. Twice the same changes nothing.
 *
 * @throws NotFoundError no such lane is open
 * @throws UnansweredError no worker answered in time; it may still take effect
 * @throws LaneRefusedError the lane does not do that; the message says which field and why
 */
export const operateLane = {
  pause: (client: Client, name: string, act: Named) => update(client, name, messages.pause, act),
  /** Starts its counters again, too. */
  resume: (client: Client, name: string, act: Named) => update(client, name, messages.resume, act),
  override: (client: Client, name: string, asked: messages.OverrideAsked) =>
    update(client, name, messages.override, asked),
  clearOverride: (client: Client, name: string, act: Named) =>
    update(client, name, messages.clearOverride, act),
  drain: (client: Client, name: string, act: Named) => update(client, name, messages.drain, act),
};

async function update<Asked>(
  client: Client,
  name: string,
  definition: UpdateDefinition<LaneRecord, [Asked]>,
  asked: Asked,
): Promise<LaneRecord> {
  const handle = client.workflow.getHandle(laneWorkflowId(name));
  try {
    return await client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () =>
      handle.executeUpdate(definition, { args: [asked] }),
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      throw new NotFoundError(
        `lane "${name}": no such lane is open; its workflow would be ${laneWorkflowId(name)}`,
      );
    if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
      throw new LaneRefusedError(`lane "${name}": ${error.cause.message}`);
    if (isUnanswered(error))
      throw new UnansweredError(
        `lane "${name}": no worker answered within ${ANSWERED_WITHIN_MS / 1000} s. It may still take effect when ` +
          'one is back; see then, or ask again, which changes nothing twice',
      );
    throw error;
  }
}
