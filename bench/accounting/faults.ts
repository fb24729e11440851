import type { z } from 'zod';
import type { chanceSchema } from '../../src/dev/upstream/chance.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import type { LookupScript } from '../../src/dev/upstream/lookup-faults.ts';

type Chance = z.input<typeof chanceSchema>;

/** Longer than it takes to see a call at the door and kill its sender, shorter than a lane's timeout. */
const DELAY_MS = 700;

/**
 * What befalls any call of a key without a script, at about one in three. Those that take a whole timeout are rare, so
 * that an accounting takes minutes.
 */
export const CHANCE: Chance = [
  { probability: 0.03, fault: { type: 'throttle', retryAfter: '1' } },
  { probability: 0.01, fault: { type: 'throttle', retryAfter: { date: 'imf', inSeconds: 2 } } },
  { probability: 0.01, fault: { type: 'throttle' } },
  { probability: 0.01, fault: { type: 'throttle', status: 503, retryAfter: '1' } },
  { probability: 0.02, fault: { type: 'status', status: 503 } },
  { probability: 0.02, fault: { type: 'status', status: 500 } },
  { probability: 0.03, fault: { type: 'status', status: 502, effect: 'committed' } },
  { probability: 0.01, fault: { type: 'status', status: 409 } },
  { probability: 0.01, fault: { type: 'status', status: 404 } },
  { probability: 0.002, fault: { type: 'status', status: 401 } },
  { probability: 0.05, fault: { type: 'delay', ms: DELAY_MS } },
  { probability: 0.05, fault: { type: 'delay', ms: DELAY_MS, effect: 'committed' } },
  { probability: 0.03, fault: { type: 'lostResponse' } },
  { probability: 0.02, fault: { type: 'reset' } },
  { probability: 0.01, fault: { type: 'hang' } },
  { probability: 0.02, fault: { type: 'hang', effect: 'committed' } },
  { probability: 0.005, fault: { type: 'closed', forMs: 1_500 } },
];

/** The upstream means it: nothing but a person ends such an item. */
export const POISON: FaultScript[string] = [
  { type: 'status', status: 422, body: '{"error":"no such package"}', times: 'always' },
];

/** The upstream takes it after all, once somebody has asked why. */
export const REFUSED_ONCE: FaultScript[string] = [
  { type: 'status', status: 404, body: '{"error":"not published yet"}' },
];

/** Answers to a lookup that prove nothing. Each befalls some keys, once. */
export const LOOKUP_FAULTS: LookupScript[string] = [
  { type: 'status', status: 500 },
  { type: 'throttle', retryAfter: '1' },
  { type: 'otherRecord' },
  { type: 'html' },
  { type: 'reset' },
  { type: 'hang' },
];
