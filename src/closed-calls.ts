import { InterceptingCall, type Interceptor, Metadata, status } from '@grpc/grpc-js';

/**
 * Ends calls that begin once their connection is closed, instead of throwing. The SDK tries failed calls again by a
 * timer, and what is thrown there nobody can catch: it would end the process. To be put after the SDK's own interceptor.
 */
export const endsWhenClosed: Interceptor = (options, nextCall) => {
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
