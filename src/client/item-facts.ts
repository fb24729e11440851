import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { type Attempts, AttemptsSchema, NO_ATTEMPTS } from '../domain/attempts.ts';
import { type Evidence, EvidenceSchema } from '../domain/evidence.ts';
import { type Order, OrderSchema } from '../domain/orders.ts';
import { lateAnswer } from '../workflows/messages.ts';
import type { ReadHistory } from './history.ts';
import { decodePayloads } from './payloads.ts';
import type { PendingActivity } from './pending-activity.ts';

const TaskSchema = z.object({ account: AttemptsSchema.nullable() });
/** What ends a call, or takes it back: either way, with the account of all attempts up to then. */
const AccountSchema = z.object({ attempts: AttemptsSchema });
const AnswerSchema = z.object({ round: z.int(), order: OrderSchema.nullable() });

/** The account of an open item's attempts. While a call is pending it travels in that call's heartbeat details. */
export async function accountOf(
  client: Client,
  { activityInputs, activityResults }: ReadHistory,
  pending: PendingActivity | undefined,
): Promise<Attempts> {
  const [details] = await decodePayloads(client, pending?.heartbeatDetails);
  const task = activityInputs.findLast(({ activityType }) => activityType === 'callUpstream')?.input;
  const handedOn = TaskSchema.safeParse(task).data?.account ?? NO_ATTEMPTS;
  if (pending !== undefined) return AttemptsSchema.safeParse(details).data ?? handedOn;
  const accounts = activityResults
    .filter(({ activityType }) => activityType === 'callUpstream' || activityType === 'takeBack')
    .flatMap(({ result }) => AccountSchema.safeParse(result).data ?? []);
  return accounts.at(-1)?.attempts ?? handedOn;
}

/** What was done to the item, oldest first, and into which round that has brought it. */
export function ordersIn({ updateAnswers }: ReadHistory): { orders: Order[]; round: number } {
  const answers = updateAnswers.flatMap(({ answer }) => AnswerSchema.safeParse(answer).data ?? []);
  // Each answer tells the newest order; one that changed nothing tells the one before it again.
  const byTime = new Map(answers.flatMap(({ order }) => (order === null ? [] : [[order.atMs, order]])));
  return { orders: [...byTime.values()], round: answers.at(-1)?.round ?? 0 };
}

export function lateEvidenceIn({ signals }: ReadHistory): Evidence[] {
  return signals
    .filter(({ signalName }) => signalName === lateAnswer.name)
    .flatMap(({ input }) => EvidenceSchema.safeParse(input).data ?? []);
}
