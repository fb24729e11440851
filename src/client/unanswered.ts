import { WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { GRPC, grpcCodeOf } from '../grpc.ts';

/** Whether no worker answered an update in time. It may still take effect. */
export function isUnanswered(error: unknown): boolean {
  return (
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || grpcCodeOf(error) === GRPC.deadlineExceeded
  );
}
