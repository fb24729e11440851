import assert from 'node:assert/strict';
import type { LineBody } from '../../src/domain/audit/lines.ts';
import { DoctoredLogError, NotASendLogError } from '../../src/domain/audit/contents.ts';
import { read } from './audit-logs.ts';

// The lines of a log with one call, before they are sealed.

export const SHA = 'a'.repeat(64);
export const log = {
  kind: 'log',
  format: 1,
  nonce: '0123456789abcdef',
  process: 'p',
  host: 'h',
  at: 1,
  torn: null,
} satisfies LineBody;
export const terms = {
  limit: { requests: 5, perMs: 1_000, burst: 1, arrivalWithinMs: null },
  maxInFlight: 2,
};
export const opened = {
  kind: 'opened',
  lane: 'a',
  epoch: 1,
  holder: 'p',
  ...terms,
  timeoutMs: 500,
  at: 2,
} satisfies LineBody;
export const departure = {
  call: 'n:1',
  lane: 'a',
  epoch: 1,
  key: 'k',
  attempt: 1,
  sha256: SHA,
  lookup: false,
  probe: false,
  leftAt: 3,
};
export const left = { kind: 'left', ...departure } satisfies LineBody;
export const call = {
  kind: 'call',
  ...departure,
  holder: 'p',
  answeredAt: 4,
  verdict: 'succeeded',
  end: 200,
  retryAfter: null,
  retryAfterMs: null,
  endedAt: 5,
} satisfies LineBody;
export const whole: readonly LineBody[] = [log, opened, left, call];

/** How a log's text is refused. */
export function refusal(text: string): { name: string; line: number | null; problem: string } {
  try {
    read(text);
  } catch (error) {
    if (error instanceof DoctoredLogError)
      return { name: error.name, line: error.line, problem: error.message };
    assert(error instanceof NotASendLogError, String(error));
    return { name: error.name, line: null, problem: error.message };
  }
  assert.fail('expected it to be refused');
}
