import type { Client } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodePayloads } from '../client/payloads.ts';
import { pendingActivityOf } from '../client/pending-activity.ts';
import { AttemptsSchema } from '../domain/attempts.ts';

/** A beat of the SDK takes a few milliseconds to the server. */
const ASK_EVERY_MS = 10;

/** Which attempt of which item claims to be sending. */
export interface Claim {
  readonly key: string;
  /** of the item's workflow: one that was reset has another, and its old attempts no longer count */
  readonly runId: string | undefined;
  readonly attempt: number;
}

/**
 * Waits until the server itself tells the claim that an attempt's last beat carried.
 *
 * The beat must be the SDK's own and nobody else's. The SDK sends one beat after the other; a beat sent beside it, by
 * the client, was seen to be overtaken by an older one of the SDK that was still on its way. The claim was gone from
 * the server then, and a worker killed at that moment left an item that looked unsent.
 *
 * @throws Error when the claim is not there in time, or the server no longer wants the attempt
 */
export async function confirmClaim(client: Client, claim: Claim, withinMs: number): Promise<void> {
  const giveUpAtMs = performance.now() + withinMs;
  while (!(await isKnown(client, claim, withinMs))) {
    if (performance.now() > giveUpAtMs) throw new Error(`the server did not tell it within ${withinMs} ms`);
    await sleep(ASK_EVERY_MS);
  }
}

async function isKnown(client: Client, { key, runId, attempt }: Claim, withinMs: number): Promise<boolean> {
  const description = await client.withDeadline(Date.now() + withinMs, () =>
    client.workflow.getHandle(key, runId).describe(),
  );
  const pending = pendingActivityOf(description, 'callUpstream');
  if (pending === undefined || !pending.started || pending.attempt !== attempt || pending.cancelRequested)
    throw new Error('the server no longer wants this attempt');
  const [details] = await decodePayloads(client, pending.heartbeatDetails);
  const attempts = AttemptsSchema.safeParse(details);
  return attempts.success && attempts.data.sendingAttempt === attempt;
}
