import type { Attempts } from './attempts.ts';
import type { DeliveryPolicy } from './policy.ts';
import { keyWindowPassed } from './next.ts';

/**
 * Why a parked item may not be tried again unless somebody accepts the risk that it is done twice; undefined when it
 * may: nothing of it can have been applied, the upstream still knows its key, or can be asked.
 */
export function riskOfRedrive(
  attempts: Attempts,
  { policy, lookupPath }: { policy: DeliveryPolicy; lookupPath: string | null },
  nowMs: number,
): string | undefined {
  if (!attempts.unresolved || lookupPath !== null) return undefined;
  if (policy.idempotency === null)
    return 'an earlier attempt may have been applied, and the upstream takes no idempotency keys';
  if (keyWindowPassed(attempts, policy, nowMs))
    return 'an earlier attempt may have been applied, and the upstream may have forgotten its key';
  return undefined;
}
