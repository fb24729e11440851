import { InterceptingCall, type Interceptor, Metadata, status } from '@grpc/grpc-js';
import { type ConnectionPlugin, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

/**
 * For every connection: without it, closing one while a call waits to be tried again ends the process. The SDK tries
 * failed calls again by a timer, and what a closed connection throws there nobody can catch.
 */
export const endsCallsWhenClosed: ConnectionPlugin = {
  name: 'onelane.ends-calls-when-closed',
  configureConnection: (options) => ({
    ...options,
    // After what tries again, so that each new try comes by here. Without any of its own, the SDK has this one.
    interceptors: [
      ...(options.interceptors ?? [makeGrpcRetryInterceptor(defaultGrpcRetryOptions())]),
      endsWhenClosed,
    ],
  }),
};

/** Ends calls that begin once their connection is closed, instead of throwing. */
const endsWhenClosed: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch (error) {
    return new InterceptingCall(closedCall(error instanceof Error ? error.message : String(error)));
  }
};

type Call = ConstructorParameters<typeof InterceptingCall>[0];

/** CANCELLED, since that is not tried again. */
function closedCall(details: string): Call {
  return {
    start: (_, listener) => {
      // The SDK's retries pass on no status before a message.
      listener?.onReceiveMessage?.(null);
      listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata: new Metadata() });
    },
    cancelWithStatus: () => undefined,
    getPeer: () => 'closed',
    sendMessageWithContext: () => undefined,
    sendMessage: () => undefined,
    startRead: () => undefined,
    halfClose: () => undefined,
    getAuthContext: () => null,
  };
}
