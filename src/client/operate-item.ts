import {
  type Client,
  type WorkflowExecutionDescription,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, type UpdateDefinition } from '@temporalio/common';
import { digest } from '../domain/canonical.ts';
import type { ItemEnd } from '../domain/delivery.ts';
import { answerOfEnd, describeItemEnd, isEndedBy } from '../domain/item-end.ts';
import { type ItemAnswer, ItemAnswerSchema } from '../domain/orders.ts';
import type { deliverItem } from '../workflows/index.ts';
import * as messages from '../workflows/messages.ts';
import type { Named } from '../workflows/named.ts';
import { ItemRefusedError, UnansweredError } from './errors.ts';
import { describeItem } from './key-holder.ts';
import { isUnanswered } from './unanswered.ts';

/** A call in flight has to end before an item is taken back, and a lookup waits for its turn in the lane. */
const ANSWERED_WITHIN_MS = 45_000;

/**
 * What is done to an item, each under a name and for a reason, which the item keeps. Each resolves with where the item
 * stands when it is done. Twice the same gives the same answer, also at once.
 *
 * @throws NotFoundError no item is known under this key
 * @throws UnansweredError no worker answered in time; it may still take effect
 * @throws ItemRefusedError the item does not do that; the message says why, and `answer` where it stands
 */
export const operateItem = {
  /** Tries a parked item again under its key, with a fresh budget and deadline. */
  redrive: (client: Client, key: string, asked: messages.RedriveAsked) =>
    order(client, key, messages.redrive, { ...named(asked), acceptRisk: asked.acceptRisk ?? false }),
  /** Gives up an item that is not being sent. */
  discard: (client: Client, key: string, asked: Named) => order(client, key, messages.discard, named(asked)),
  /** Closes a parked item as found done. An upstream that can be asked is asked first. */
  resolve: (client: Client, key: string, asked: messages.ResolveAsked) =>
    order(client, key, messages.resolve, {
      ...named(asked),
      receipt: { upstreamId: asked.receipt.upstreamId },
    }),
  /** Takes back what is not being sent, until `release`. */
  hold: (client: Client, key: string, asked: Named) => order(client, key, messages.hold, named(asked)),
  release: (client: Client, key: string, asked: Named) => order(client, key, messages.release, named(asked)),
  /** Tells an uncertain item what a lookup found. Where it has moved on meanwhile, it stays as it is. */
  settle: (client: Client, key: string, asked: messages.SettleAsked) =>
    order(client, key, messages.settle, {
      ...named(asked),
      finding: asked.finding,
      round: asked.round,
    }),
};

/** Without whatever else a caller's object may hold: it goes into a history. */
function named({ by, reason }: Named): Named {
  return { by, reason };
}

async function order<Asked extends Named>(
  client: Client,
  key: string,
  definition: UpdateDefinition<ItemAnswer, [Asked]>,
  asked: Asked,
): Promise<ItemAnswer> {
  const description = await describeItem(client, key);
  const closed = () => answerOfClosed(client, description, definition.name, asked);
  if (description.status.name !== 'RUNNING') return await closed();
  const handle = client.workflow.getHandle(key, description.runId);
  try {
    return await client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, async () => {
      const { turn } = await handle.query(messages.item);
      // One ID for the same order at the same moment, so that it is carried out once, however often it is asked for.
      const updateId = `${definition.name}:${turn}:${digest(JSON.stringify(asked)).slice(0, 24)}`;
      return await handle.executeUpdate(definition, { args: [asked], updateId });
    });
  } catch (error) {
    if (isClosing(error)) return await closed();
    const refusal = refusalIn(error);
    if (refusal?.type === 'ItemRefused')
      throw new ItemRefusedError(`item "${key}": ${refusal.message}`, answerIn(refusal));
    if (isUnanswered(error))
      throw new UnansweredError(
        `item "${key}": no worker answered within ${ANSWERED_WITHIN_MS / 1000} s. It may still take effect when ` +
          'one is back; see then, or ask again, which does nothing twice',
      );
    throw error;
  }
}

/** Where the item stood; a name or a reason that was missing is refused before anybody looks. */
function answerIn({ details }: ApplicationFailure): ItemAnswer | null {
  return ItemAnswerSchema.safeParse(details?.[0]).data ?? null;
}

/** A closed item takes no orders: its result says why not, or that this very order closed it. */
async function answerOfClosed(
  client: Client,
  { workflowId: key, runId }: WorkflowExecutionDescription,
  kind: string,
  asked: Named,
): Promise<ItemAnswer> {
  let end: ItemEnd;
  try {
    end = await client.workflow.getHandle<typeof deliverItem>(key, runId).result();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    throw new ItemRefusedError(
      `item "${key}": its workflow was ended from outside: ${error.cause?.message}`,
      null,
    );
  }
  const answer = answerOfEnd(key, end);
  if (isEndedBy(end, kind, asked)) return answer;
  throw new ItemRefusedError(`item "${key}": ${describeItemEnd(end)}`, answer);
}

/** It closed between our looking and our asking, or before the order had its turn. */
function isClosing(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true;
  return refusalIn(error)?.type === 'AcceptedUpdateCompletedWorkflow';
}

function refusalIn(error: unknown): ApplicationFailure | undefined {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  return cause instanceof ApplicationFailure ? cause : undefined;
}
