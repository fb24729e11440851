import * as fc from 'fast-check';
import type { Verdict } from '../../src/domain/verdict.ts';

// A lane that keeps its promises, whatever befalls it. It is told the future of each call, so that it needs none of
// the lane's own code.

export interface Rules {
  readonly requests: number;
  readonly perMs: number;
  readonly arrivalWithinMs: number | null;
  readonly maxInFlight: number;
  readonly timeoutMs: number;
}

/** What happens next in the lane. Fractions are of the timeout. */
export type Step =
  | { kind: 'answered'; idleMs: number; key: number; latency: number }
  | { kind: 'throttled'; idleMs: number; key: number; latency: number; retryAfterMs: number }
  | { kind: 'lost'; idleMs: number; key: number; after: number }
  /** the holder dies, and what it learned last with it if `forgets` */
  | { kind: 'kill'; after: number; forgets: boolean }
  | { kind: 'handover' }
  | { kind: 'override'; requests: number };

/** Times are ms of simulated time. */
export interface SimulatedCall {
  epoch: number;
  key: string;
  body: string;
  left: number;
  answered: number | null;
  /** null: its holder was killed before */
  ended: number | null;
  verdict: Verdict;
  retryAfterMs: number | null;
  rules: Rules;
  /** the first moments that the window and Retry-After allowed */
  windowAllowed: number;
  retryAfterAllowed: number;
}

export interface SimulatedEpoch {
  readonly epoch: number;
  readonly opened: number;
  readonly rules: Rules;
  handedOver: number | null;
  overrides: { at: number; rules: Rules; beforeCall: number }[];
}

export interface Simulation {
  readonly calls: SimulatedCall[];
  readonly epochs: SimulatedEpoch[];
}

export const countedAt = ({ left, answered, rules }: SimulatedCall): number =>
  Math.min(answered ?? Infinity, left + rules.timeoutMs, left + (rules.arrivalWithinMs ?? Infinity));

export const openUntil = ({ left, ended, rules }: SimulatedCall): number =>
  Math.min(ended ?? Infinity, left + rules.timeoutMs);

export function simulate(start: Rules, steps: readonly Step[]): Simulation {
  const calls: SimulatedCall[] = [];
  let rules = start;
  let now = 0;
  let epoch: SimulatedEpoch = { epoch: 1, opened: 0, rules, handedOver: null, overrides: [] };
  const epochs = [epoch];
  /** the first call after a crash goes alone, and does not know what was forgotten */
  let alone = false;
  let forgotten: SimulatedCall | null = null;

  const next = (at: number) => {
    now = at;
    epoch = { epoch: epoch.epoch + 1, opened: now, rules, handedOver: null, overrides: [] };
    epochs.push(epoch);
  };
  const leave = (step: Extract<Step, { idleMs: number }>) => {
    const windowAllowed = nth(calls.map(countedAt), rules.requests) + rules.perMs;
    // Alone is also the one behind it: it waits for the first one's end.
    const slots = alone || calls.at(-1)?.epoch !== epoch.epoch || lastWasAlone() ? 1 : rules.maxInFlight;
    const slotFree = nth(calls.map(openUntil), slots);
    let left = Math.max(now + step.idleMs, windowAllowed, slotFree);
    const asks = calls.filter((call) => call.retryAfterMs !== null && !(alone && call === forgotten));
    let retryAfterAllowed = -Infinity;
    for (const ask of asks.toSorted((a, b) => openUntil(a) - openUntil(b))) {
      if (ask.answered === null || openUntil(ask) > left) continue;
      retryAfterAllowed = Math.max(retryAfterAllowed, ask.answered + (ask.retryAfterMs ?? 0));
      left = Math.max(left, retryAfterAllowed);
    }
    calls.push({ ...fateOf(step, left, rules), epoch: epoch.epoch, windowAllowed, retryAfterAllowed });
    now = left;
    alone = false;
  };
  const lastWasAlone = () => calls.filter((call) => call.epoch === epoch.epoch).length === 1;

  for (const step of steps)
    switch (step.kind) {
      case 'answered':
      case 'throttled':
      case 'lost':
        leave(step);
        break;
      case 'kill': {
        const killed = now + step.after * rules.timeoutMs;
        const known = calls.filter(
          (call) => call.epoch === epoch.epoch && (call.ended ?? Infinity) <= killed,
        );
        forgotten = step.forgets
          ? (known.findLast(({ retryAfterMs }) => retryAfterMs !== null) ?? null)
          : null;
        alone = true;
        for (const call of calls) if (call.ended !== null && call.ended > killed) loseEnd(call, calls);
        next(Math.max(killed, ...calls.map(openUntil)));
        break;
      }
      case 'handover':
        epoch.handedOver = Math.max(now, ...calls.map(openUntil));
        next(epoch.handedOver);
        break;
      case 'override':
        rules = {
          ...rules,
          requests: step.requests,
          maxInFlight: Math.min(rules.maxInFlight, step.requests),
        };
        epoch.overrides.push({ at: now, rules, beforeCall: calls.length });
    }
  return { calls, epochs };
}

/** Its answer is still known where another call left after it: the log had to say so then. */
function loseEnd(call: SimulatedCall, calls: readonly SimulatedCall[]): void {
  if (firstAfterAnswer(call, calls) === undefined) call.answered = null;
  call.ended = null;
  call.retryAfterMs = null;
}

/** The first call that left between this one's answer and its end. */
export function firstAfterAnswer(
  call: SimulatedCall,
  calls: readonly SimulatedCall[],
): SimulatedCall | undefined {
  const { epoch, answered, ended } = call;
  if (answered === null) return undefined;
  return calls
    .slice(calls.indexOf(call) + 1)
    .find((other) => other.epoch === epoch && other.left >= answered && other.left < (ended ?? Infinity));
}

function fateOf(step: Extract<Step, { idleMs: number }>, left: number, rules: Rules) {
  const call = { key: `key-${step.key}`, body: `body of ${step.key}`, left, rules, retryAfterMs: null };
  if (step.kind === 'lost') {
    const ended = left + step.after * rules.timeoutMs;
    return { ...call, answered: null, ended, verdict: 'ambiguous' as const };
  }
  const answered = left + step.latency * rules.timeoutMs;
  const ended = answered + 0.25 * (left + rules.timeoutMs - answered);
  if (step.kind === 'answered') return { ...call, answered, ended, verdict: 'succeeded' as const };
  return { ...call, answered, ended, verdict: 'throttled' as const, retryAfterMs: step.retryAfterMs };
}

/** The nth largest; -Infinity where there are fewer. */
function nth(numbers: readonly number[], n: number): number {
  return numbers.toSorted((a, b) => b - a)[n - 1] ?? -Infinity;
}

const fraction = fc.double({ min: 0, max: 1, noNaN: true });
const key = fc.nat(9);
const idleMs = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  fc.double({ min: 0, max: 300, noNaN: true }),
);

export const rulesArbitrary: fc.Arbitrary<Rules> = fc
  .record({
    requests: fc.integer({ min: 1, max: 6 }),
    perMs: fc.integer({ min: 50, max: 1_000 }),
    arrivalWithinMs: fc.option(fc.integer({ min: 1, max: 50 }), { nil: null, freq: 3 }),
    maxInFlight: fc.integer({ min: 1, max: 3 }),
    timeoutMs: fc.integer({ min: 60, max: 500 }),
  })
  .map((rules) => ({ ...rules, maxInFlight: Math.min(rules.maxInFlight, rules.requests) }));

export const stepsArbitrary: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({ kind: fc.constant('answered' as const), idleMs, key, latency: fraction }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('throttled' as const),
        idleMs,
        key,
        latency: fraction,
        retryAfterMs: fc.constantFrom(1_000, 2_000, 5_000),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('lost' as const), idleMs, key, after: fraction }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('kill' as const), after: fraction, forgets: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('handover' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('override' as const),
        requests: fc.integer({ min: 1, max: 6 }),
      }),
    },
  ),
  { minLength: 2, maxLength: 40, size: 'max' },
);

export const simulationArbitrary: fc.Arbitrary<Simulation> = fc
  .tuple(rulesArbitrary, stepsArbitrary)
  .map(([rules, steps]) => simulate(rules, steps));
