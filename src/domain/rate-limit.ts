import { parseDictionary, parseList, type Dictionary, type List } from 'structured-headers';

/**
 * Reads how long no further call should leave from an answer's `RateLimit` header
 * (draft-ietf-httpapi-ratelimit-headers: `"default";r=0;t=30`; before revision 8:
 * `limit=100, remaining=0, reset=30`). It can only slow a lane down: all that is unreadable, and every quota
 * with something left, says nothing. `RateLimit-Policy` holds the quota, not what is left of it, and a lane's
 * quota is its configuration's to say.
 *
 * @param headers the value of `RateLimit`, undefined when the answer has none; several are joined by commas
 * @param othersInFlight calls of ours that are still open: what remains may be theirs already
 * @param maxMs the lane's `retryAfterMax`; a longer hold is cut to it
 * @returns milliseconds, the longest that an item of the header asks for; undefined when none does
 */
export function rateLimitHold(
  headers: { readonly rateLimit?: string | undefined },
  othersInFlight: number,
  maxMs: number,
): number | undefined {
  const holdsMs = quotasIn(headers.rateLimit ?? '')
    .filter((quota) => quota.remaining <= othersInFlight && quota.resetSeconds > 0)
    .map((quota) => Math.min(quota.resetSeconds * 1000, maxMs));
  return holdsMs.length === 0 ? undefined : Math.max(...holdsMs);
}

interface Quota {
  readonly remaining: number;
  readonly resetSeconds: number;
}

function quotasIn(text: string): Quota[] {
  const list = attempt(() => parseList(text));
  if (list) return quotasOfList(list);
  const dictionary = attempt(() => parseDictionary(text));
  return dictionary ? quotasOfDictionary(dictionary) : [];
}

function quotasOfList(list: List): Quota[] {
  return list.flatMap(([, parameters]) => readQuota(parameters.get('r'), parameters.get('t')));
}

function quotasOfDictionary(dictionary: Dictionary): Quota[] {
  return readQuota(numberIn(dictionary, 'remaining'), numberIn(dictionary, 'reset'));
}

function numberIn(dictionary: Dictionary, name: string): number | undefined {
  const value = dictionary.get(name)?.[0];
  return typeof value === 'number' ? value : undefined;
}

/** None unless both are numbers that can be meant: a quota without `t` does not say when it is filled again. */
function readQuota(remaining: unknown, resetSeconds: unknown): Quota[] {
  if (typeof remaining !== 'number' || typeof resetSeconds !== 'number' || remaining < 0) return [];
  return [{ remaining, resetSeconds }];
}

/** A header that no parser reads must not end an attempt whose answer is already there. */
function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
