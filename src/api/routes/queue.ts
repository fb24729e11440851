import { z } from 'zod';
import type { TypedApi } from '../app.ts';
import { PublishedSchema } from '../batch-answers.ts';
import { BatchIdHeaderSchema, mustComeOnce } from '../batch-id.ts';
import { unreadable } from '../../domain/item-text.ts';
import { exactMembers } from '../json-body.ts';
import { ProblemError, problemResponses } from '../problems.ts';
import { locationOf, publishFor } from '../publish.ts';
import { LaneSchema, type RouteContext, WaitSchema, membersSchema } from './context.ts';

/** A field that we would not heed, such as a delay, must not look as if we did. */
const PublishMessagesSchema = z.strictObject({
  queue: LaneSchema.describe('the lane'),
  messages: membersSchema('`operation_key` is the key of the item, the rest of the body its payload', {
    body: { operation_key: 'release:pkg-1842:v7', package: 'pkg-1842', version: '7' },
  }),
});

const MessageSchema = z.strictObject({
  body: z.looseObject({ operation_key: z.unknown().optional() }, 'expected an object'),
});

/** For producers that were written for a queue's plain HTTP API: they change their base URL, and nothing else. */
export function queueRoutes(app: TypedApi, { client }: RouteContext): void {
  app.post(
    '/queue/publish_batch',
    {
      config: { scope: 'publish' },
      preValidation: async ({ raw }) => mustComeOnce(raw),
      schema: {
        tags: ['queue'],
        summary: 'Publish messages as a batch of items',
        description:
          'Such producers read only the status: when any message was rejected or is in conflict, the answer is 422 ' +
          'with the admission of each, and the good ones stand.',
        headers: z.looseObject({ 'idempotency-key': BatchIdHeaderSchema }),
        querystring: z.strictObject({ wait: WaitSchema }),
        body: PublishMessagesSchema,
        response: {
          200: PublishedSchema.describe('Every message is admitted'),
          202: PublishedSchema.describe(
            'Durable; not all messages are answered yet. Send it again, or ask at `Location`',
          ),
          ...problemResponses(400, 413, 415, 422),
        },
      },
    },
    async ({ caller, headers, query, body, bodyText }, reply) => {
      const items = exactMembers(bodyText, 'messages', body.messages, keyed).map(itemOf);
      const batch = { batchId: headers['idempotency-key'], lane: body.queue, items };
      const published = await publishFor(client, caller, batch, query.wait);
      const { answered, admissions } = published;
      const refused = admissions.filter(
        ({ admission }) => admission === 'rejected' || admission === 'conflict',
      );
      if (refused.length > 0)
        throw new ProblemError(
          'messages-refused',
          `${refused.length} of ${admissions.length} messages were rejected or are in conflict; the others stand`,
          { admissions },
        );
      return reply
        .code(answered ? 200 : 202)
        .header('Location', locationOf(published.batchId))
        .send(published);
    },
  );
}

/** What can't be made an item is rejected by itself, at its position. */
function itemOf(message: unknown): unknown {
  if (isUnreadable(message)) return message;
  const parsed = MessageSchema.safeParse(message);
  if (!parsed.success) {
    const reasons = parsed.error.issues.map(
      (issue) => `${['message', ...issue.path].join('.')}: ${issue.message}`,
    );
    return unreadable(reasons.join('; '), keyed(message));
  }
  const { operation_key: key, ...payload } = parsed.data.body;
  return key === undefined ? { payload } : { key, payload };
}

function isUnreadable(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'unreadable' in message;
}

/** The key of a message, as an item has it. */
function keyed(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('body' in message)) return undefined;
  const { body } = message;
  const named = typeof body === 'object' && body !== null && 'operation_key' in body;
  return named ? { key: body.operation_key } : undefined;
}
