import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodePayloads } from '../client/payloads.ts';
import { type PendingActivity, pendingActivityOf } from '../client/pending-activity.ts';
import { type Attempts, readAttempts } from '../domain/attempts.ts';
import { lookedAt, settleLost } from '../domain/settle.ts';
import { GRPC, grpcCodeOf } from '../grpc.ts';
import type { TakeBack, TakenBack } from './contract.ts';

/** From when a call is looked at again: soon at first, since most are found waiting, or end within milliseconds. */
const FIRST_LOOK_MS = 10;
const RAREST_LOOK_MS = 500;

const CALL = 'callUpstream';

/**
 * Takes an item's call out of its lane's queue. The server is asked to pause it first: from then on nobody can begin
 * an attempt, so that the account read after that is the last word. Whoever asked cancels the call then.
 *
 * A server that can't pause activities leaves a moment between reading and cancelling; what begins in it counts as
 * ambiguous, by the item's workflow. The time-skipping one calls started also what backs off, so that there only the
 * account tells what is in the slot.
 */
export async function takeBack(client: Client, request: TakeBack): Promise<TakenBack> {
  const signal = Context.current().cancellationSignal;
  const paused = await pause(client, request);
  if (paused === 'ended') return { kind: 'ended' };
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(RAREST_LOOK_MS, 2 * waitMs)) {
    const description = await client.workflow.getHandle(request.workflowId, request.runId).describe();
    const pending = pendingActivityOf(description, CALL);
    if (pending === undefined) return { kind: 'ended' };
    const attempts = await accountOf(client, pending, request);
    const sending = pending.started && attempts.sendingAttempt === pending.attempt;
    if (paused === 'paused' ? !pending.started : !sending) {
      const settled = settledUpTo(pending.attempt, attempts, description.startTime, request);
      return { kind: 'takenBack', attempts: settled, retryInMs: retryIn(pending) };
    }
    if (sending && !request.mayWait) {
      await unpause(client, request);
      return { kind: 'sending' };
    }
    await sleep(waitMs, undefined, { signal });
  }
}

async function accountOf(client: Client, pending: PendingActivity, { account }: TakeBack): Promise<Attempts> {
  const [details] = await decodePayloads(client, pending.heartbeatDetails);
  return readAttempts(details, pending.attempt, account);
}

/** Of an attempt whose worker got lost, nobody else will ever enter the end. No call left before the item started. */
function settledUpTo(attempt: number, attempts: Attempts, startedAt: Date, request: TakeBack): Attempts {
  const { round, policy } = request;
  return settleLost(attempts, attempt, round, policy, startedAt.getTime(), lookedAt(Date.now()));
}

function retryIn({ nextAttemptAt }: PendingActivity): number {
  return nextAttemptAt === null ? 0 : Math.max(0, nextAttemptAt.getTime() - Date.now());
}

async function pause(client: Client, request: TakeBack): Promise<'paused' | 'unable' | 'ended'> {
  try {
    await client.workflowService.pauseActivity({
      ...named(client, request),
      reason: 'to take the item back',
    });
    return 'paused';
  } catch (error) {
    switch (grpcCodeOf(error)) {
      case GRPC.unimplemented:
        return 'unable';
      case GRPC.notFound:
        return 'ended';
      default:
        throw error;
    }
  }
}

/** It goes on as if nothing had been. */
async function unpause(client: Client, request: TakeBack): Promise<void> {
  try {
    await client.workflowService.unpauseActivity(named(client, request));
  } catch (error) {
    const code = grpcCodeOf(error);
    // Ended meanwhile; or never paused.
    if (code !== GRPC.notFound && code !== GRPC.unimplemented) throw error;
  }
}

function named(client: Client, { workflowId, runId }: TakeBack) {
  const { namespace, identity } = client.options;
  return { namespace, identity, execution: { workflowId, runId }, type: CALL };
}
