import { ApplicationFailure, type Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { formatDuration } from '../domain/duration.ts';
import type { Evidence } from '../domain/evidence.ts';
import type { LaneConfig } from '../domain/policy.ts';
import { rateLimitHold } from '../domain/rate-limit.ts';
import { parseRetryAfter } from '../domain/retry-after.ts';
import type { CallEnd, Verdict } from '../domain/verdict.ts';
import type { Clock } from '../lane/clock.ts';
import type { Gate } from '../lane/gate.ts';
import type { LateAnswers } from '../lane/late-answers.ts';
import type { Sender, SentCall } from '../lane/sender.ts';
import type { UpstreamRequest } from '../lane/upstream-connection.ts';
import { evidenceOf } from './evidence.ts';

/** What of a lane its slot's activities call through. */
export interface SlotParts {
  /** this process, as evidence names it */
  readonly holder: string;
  readonly config: LaneConfig;
  readonly gate: Gate;
  readonly sender: Sender;
  readonly clock: Clock;
  /** Stores the lane's closure or pause; resolves when it is stored, or when the lane is no longer ours. */
  readonly store: () => Promise<void>;
  readonly lateAnswers: LateAnswers;
}

/** A call to be made, and what its end will mean. */
export interface SlotCall {
  readonly request: UpstreamRequest;
  readonly key: string;
  readonly of: Pick<Evidence, 'call' | 'attempt' | 'round'>;
  readonly judge: (end: CallEnd, retryAfterUsable: boolean) => Verdict;
}

/** A call whose end the lane has learned from. */
export interface JudgedCall {
  readonly end: CallEnd;
  readonly verdict: Verdict;
  readonly evidence: Evidence;
  /** it went alone, after the lane had been closed */
  readonly probe: boolean;
  /**
   * To be awaited before the slot is free again: what the lane learned and did not store would die with this process,
   * and be an early call of the next.
   */
  readonly stored: () => Promise<void>;
}

/** Makes one call through sender and gate. Undefined when the lane no longer let it leave: wait for a turn again. */
export async function callInSlot(parts: SlotParts, call: SlotCall): Promise<JudgedCall | undefined> {
  const sent = await parts.sender.send(call.request, call.key, call.of.attempt);
  return sent && judged(parts, call, sent);
}

function judged(parts: SlotParts, { key, of, judge }: SlotCall, sent: SentCall): JudgedCall {
  const { holder, config, gate, clock, store, lateAnswers } = parts;
  const { end, probe } = sent;
  const headers = end.kind === 'answered' ? end.headers : {};
  const retryAfter = parseRetryAfter(headers.retryAfter, headers.date, clock.epochMs());
  const retryAfterMs = retryAfter.usable ? retryAfter.delayMs : null;
  const verdict = judge(end, retryAfter.usable);
  const evidence = evidenceOf(end, verdict, { ...of, holder }, clock.epochMs(), config.secrets);
  const { closedUntilMs, pausedBecause } = gate.state;
  // The lane first, and before the call counts as ended: the next one must find the lane as this one left it.
  gate.report({ key, verdict, end, probe, retryAfterMs });
  sent.close({ verdict, retryAfter: evidence.retryAfter, retryAfterMs });
  const holdMs = rateLimitHold(headers, gate.inFlight, config.retryAfterMaxMs);
  if (holdMs !== undefined) gate.hold(holdMs);
  if (of.call === 'send' && end.kind === 'answered') lateAnswers.tellIfLate(key, evidence);
  const learned = gate.state.closedUntilMs !== closedUntilMs || gate.state.pausedBecause !== pausedBecause;
  return {
    end,
    verdict,
    evidence,
    probe,
    stored: async () => {
      if (learned) await store();
    },
  };
}

/** Beats for as long as the work takes: a third of the lease, so that two may get lost before we are taken for lost. */
export async function whileBeating<T>(
  context: Context,
  leaseMs: number,
  details: () => unknown,
  work: () => Promise<T>,
): Promise<T> {
  const beat = setInterval(() => context.heartbeat(details()), leaseMs / 3);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}

/** Ends an attempt without a call: what it was for is at once in the queue again, unharmed. */
export function unsent(because: string): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'GivenBack',
    message: `not sent: ${because}`,
    // The server fails an activity for good whose next delay is 0.
    nextRetryDelay: 1,
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** Ends an attempt so that the next one comes after a delay that is kept by the server. */
export function tryAgain(type: string, because: string, afterMs: number): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message: `${because}; next try in ${formatDuration(afterMs)}`,
    nextRetryDelay: afterMs,
    // Throttling and resting are how a lane is meant to work; they should not look like errors.
    ...(type === 'throttled' || type === 'Rests' ? { category: ApplicationFailureCategory.BENIGN } : {}),
  });
}
