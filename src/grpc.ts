import { isGrpcServiceError } from '@temporalio/client';

/** gRPC's status codes, as far as they matter to us. */
export const GRPC = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  unimplemented: 12,
  unavailable: 14,
} as const;

/** The gRPC status of an error or of what it wraps: the SDK wraps some errors of the service and passes on others. */
export function grpcCodeOf(error: unknown): number | undefined {
  return serviceErrorIn(error)?.code;
}

/** What gRPC says of it, e.g. which address refused the connection. */
export function grpcDetailsOf(error: unknown): string | undefined {
  return serviceErrorIn(error)?.details;
}

function serviceErrorIn(error: unknown) {
  if (isGrpcServiceError(error)) return error;
  return error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : undefined;
}
