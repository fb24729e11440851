import type { Verdict } from '../verdict.ts';
import { VERDICTS } from '../verdict.ts';
import { type LoggedCall, answeredAt } from './calls.ts';

/** What a lane did, in numbers. */
export interface Figures {
  readonly calls: number;
  readonly keys: number;
  readonly verdicts: { readonly [V in Verdict]: number };
  /** calls whose end no log has */
  readonly withoutEnd: number;
  /** answered - left, over the calls that were answered */
  readonly meanLatencyMs: number | null;
  /** from the first call to the last; null for fewer than two */
  readonly callsPerSecond: number | null;
  /** the rate, as a share of `requests / (perMs + meanLatencyMs)`; null where the limit changed on the way */
  readonly shareOfReachable: number | null;
}

/** @param calls of one lane, in the order of departure */
export function figuresOf(calls: readonly LoggedCall[]): Figures {
  const meanLatencyMs = meanLatency(calls);
  const callsPerSecond = rate(calls);
  const verdicts = { succeeded: 0, throttled: 0, unavailable: 0, ambiguous: 0, refused: 0, laneFault: 0 };
  for (const { end } of calls) if (end !== null) verdicts[end.verdict]++;
  return {
    calls: calls.length,
    keys: new Set(calls.map(({ key }) => key)).size,
    verdicts,
    withoutEnd: calls.length - VERDICTS.reduce((sum, verdict) => sum + verdicts[verdict], 0),
    meanLatencyMs,
    callsPerSecond,
    shareOfReachable: share(calls, meanLatencyMs, callsPerSecond),
  };
}

function meanLatency(calls: readonly LoggedCall[]): number | null {
  const latencies = calls.flatMap((call) => {
    const answered = answeredAt(call);
    return answered === null ? [] : [answered - call.leftAt];
  });
  if (latencies.length === 0) return null;
  return latencies.reduce((sum, latency) => sum + latency, 0) / latencies.length;
}

function rate(calls: readonly LoggedCall[]): number | null {
  const spanMs = (calls.at(-1)?.leftAt ?? 0) - (calls[0]?.leftAt ?? 0);
  return spanMs > 0 ? ((calls.length - 1) * 1_000) / spanMs : null;
}

function share(
  calls: readonly LoggedCall[],
  meanLatencyMs: number | null,
  callsPerSecond: number | null,
): number | null {
  const limit = calls[0]?.terms.limit;
  if (limit === undefined || meanLatencyMs === null || callsPerSecond === null) return null;
  const { requests, perMs } = limit;
  if (calls.some(({ terms }) => terms.limit.requests !== requests || terms.limit.perMs !== perMs))
    return null;
  return callsPerSecond / ((requests * 1_000) / (perMs + meanLatencyMs));
}
