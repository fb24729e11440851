import type { Client } from '@temporalio/client';
import { type BatchStatus, NotFoundError, batchStatus } from '../client.ts';
import type { Caller, Scope } from './caller.ts';
import { ANSWERED_WITHIN_MS } from './routes/context.ts';

/**
 * Where a page of a batch stands. To a caller who may neither read nor operate in its lane, a batch is unknown.
 *
 * @throws NotFoundError
 * @throws ProblemError when the caller is not allowed to
 */
export async function batchSeenBy(
  client: Client,
  caller: Caller,
  id: string,
  page = 0,
  scope: Scope = 'read',
): Promise<BatchStatus> {
  const status = await client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () =>
    batchStatus(client, id, page),
  );
  if (!caller.may('read', status.lane) && !caller.may('operate', status.lane))
    throw new NotFoundError(`batch "${id}": nothing is known under this ID`);
  caller.mustBeAllowedTo(scope, status.lane);
  return status;
}
