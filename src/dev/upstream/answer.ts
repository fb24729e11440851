import { httpDate } from './http-date.ts';
import type { Fault } from './faults.ts';
import type { EffectRecord } from './records.ts';

export interface Answer {
  readonly type: 'answer';
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
}

/** How a request ends. */
export type Ending =
  | Answer
  /** the connection is reset instead of answered */
  | { readonly type: 'reset' }
  /** so is every other one, and the listener is closed for a time */
  | { readonly type: 'closed'; readonly forMs: number }
  /** nothing until the client gives up */
  | { readonly type: 'silence' };

export function answerJson(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  return {
    type: 'answer',
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(value),
  };
}

export function answerProblem(status: number, error: string, headers: Record<string, string> = {}): Answer {
  return answerJson(status, { error }, headers);
}

/** The completion of an effect, the same however often it is told. */
export function answerDone(effect: EffectRecord, replayed: boolean): Answer {
  const value = { id: effect.id, key: effect.key, status: 'done' };
  return answerJson(201, value, replayed ? { 'Idempotent-Replayed': 'true' } : {});
}

/** @param now the answer's own `Date`, against which a date in `Retry-After` is meant to be read */
export function answerThrottle(fault: Extract<Fault, { type: 'throttle' }>, now: Date): Answer {
  const { retryAfter } = fault;
  const headers: Record<string, string> = { Date: httpDate('imf', now) };
  if (typeof retryAfter === 'string') headers['Retry-After'] = retryAfter;
  else if (retryAfter !== undefined)
    headers['Retry-After'] = httpDate(retryAfter.date, new Date(now.getTime() + retryAfter.inSeconds * 1000));
  return answerProblem(fault.status, 'scripted throttle', headers);
}

export function answerStatus(fault: Extract<Fault, { type: 'status' }>): Answer {
  const { status, headers, body } = fault;
  if (body === undefined) return answerProblem(status, 'scripted status', headers);
  return { type: 'answer', status, headers, body };
}
