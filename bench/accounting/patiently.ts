import { ServiceError } from '@temporalio/client';
import { UnansweredError } from '../../src/client.ts';
import { grpcCodeOf } from '../../src/grpc.ts';

/** Longer than anything that is killed stays away, with a lease on top. */
const ANSWERED_WITHIN_MS = 90_000;
const ASK_EVERY_MS = 200;

/**
 * Asks until somebody answers, as a caller of onelane does who is told that nobody was there: everything that can be
 * asked here may be asked twice. A refusal is an answer.
 */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + ANSWERED_WITHIN_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isAbsence(error) || performance.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
  }
}

/** Nobody was there: Temporal, a worker, or the upstream, whose reads go by `fetch`. */
function isAbsence(error: unknown): boolean {
  return (
    error instanceof UnansweredError ||
    error instanceof ServiceError ||
    grpcCodeOf(error) !== undefined ||
    (error instanceof TypeError && error.message === 'fetch failed')
  );
}
