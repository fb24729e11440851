import { inspect } from 'node:util';
import { isNativeError } from 'node:util/types';
import type { LogEntry } from '@temporalio/worker';
import { z } from 'zod';

const text = z.string().optional().catch(undefined);
const LoggedSchema = z.object({
  error: z.unknown().optional(),
  activityType: text,
  workflowType: text,
  workflowId: text,
});

/** What the SDK has to say to whoever runs a worker. */
export function logToStderr({ level, message, meta }: LogEntry): void {
  // A lane's consumer runs activities only, which is as it should be.
  if (message.startsWith('No workflows registered')) return;
  process.stderr.write(`[${level}] ${message}${detailsOf(meta)}\n`);
}

/** One line for what our code says itself, e.g. of a failed attempt; all there is for what nobody foresaw. */
function detailsOf(meta: LogEntry['meta']): string {
  if (meta === undefined) return '';
  const { error, activityType, workflowType, workflowId } = LoggedSchema.parse(meta);
  // Workflows fail in a thread of their own: of an error's class nothing is left but how its stack begins.
  if (isNativeError(error) && error.stack?.startsWith('ApplicationFailure'))
    return `: ${activityType ?? workflowType} of ${workflowId}: ${error.message}`;
  return ` ${inspect(meta, { breakLength: Infinity })}`;
}
