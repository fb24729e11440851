import type { z } from 'zod';
import type { faultSchema } from '../upstream/faults.ts';
import { CLOSED_MS, LATE_MS } from './settings.ts';

/** One way in which the demo's upstream misbehaves, once, for one release. */
export interface DemoFault {
  /** what the upstream does, for people */
  readonly title: string;
  /** as the upstream's script has it */
  readonly fault: z.input<typeof faultSchema>;
  /** chance may bring it again: the others would only make the demo longer */
  readonly recurs?: true;
}

const SOON_S = 2;

/** Each is met by a release of its own, in every run. */
export const FAULTS: readonly DemoFault[] = [
  {
    title: `429, Retry-After: ${SOON_S}`,
    fault: { type: 'throttle', retryAfter: String(SOON_S) },
  },
  {
    title: '429, Retry-After: an IMF-fixdate',
    fault: { type: 'throttle', retryAfter: { date: 'imf', inSeconds: SOON_S } },
  },
  {
    title: '429, Retry-After: an RFC 850 date',
    fault: { type: 'throttle', retryAfter: { date: 'rfc850', inSeconds: SOON_S } },
  },
  {
    title: '429, Retry-After: an asctime date',
    fault: { type: 'throttle', retryAfter: { date: 'asctime', inSeconds: SOON_S } },
  },
  {
    title: '429, Retry-After: 0',
    fault: { type: 'throttle', retryAfter: '0' },
  },
  {
    title: '429, no Retry-After',
    fault: { type: 'throttle' },
    recurs: true,
  },
  {
    title: '503, no Retry-After',
    fault: { type: 'status', status: 503 },
    recurs: true,
  },
  {
    title: '500, nothing done',
    fault: { type: 'status', status: 500 },
    recurs: true,
  },
  {
    title: '502, although it was done',
    fault: { type: 'status', status: 502, effect: 'committed' },
    recurs: true,
  },
  {
    title: `done, but answered after ${LATE_MS} ms`,
    fault: { type: 'delay', ms: LATE_MS, effect: 'committed' },
  },
  {
    title: 'done, then the connection broke',
    fault: { type: 'lostResponse' },
    recurs: true,
  },
  {
    title: 'the connection broke, nothing done',
    fault: { type: 'reset' },
    recurs: true,
  },
  {
    title: `gone for ${CLOSED_MS} ms, refusing connections`,
    fault: { type: 'closed', forMs: CLOSED_MS },
  },
];

/** Met by one release on every attempt: the upstream means it. */
export const REFUSAL: DemoFault = {
  title: '422, on every attempt',
  fault: {
    type: 'status',
    status: 422,
    body: '{"error":"the signature of this release has expired"}',
    times: 'always',
  },
};
