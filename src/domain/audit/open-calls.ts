import { type LoggedCall, type Tolerance, openUntil, surelyLeftBefore, uncertaintyMs } from './calls.ts';
import { type Check, Findings } from './checks.ts';

/** For each call, those that had left before it and were surely still open when it left. */
export type Beside = ReadonlyMap<LoggedCall, readonly LoggedCall[]>;

/** @param calls of one lane, in the order of departure */
export function openBeside(calls: readonly LoggedCall[], tolerance: Tolerance): Beside {
  const beside = new Map<LoggedCall, readonly LoggedCall[]>();
  let open: LoggedCall[] = [];
  for (const call of calls) {
    open = open.filter((other) => openUntil(other) > call.leftAt);
    beside.set(
      call,
      open.filter(
        (other) =>
          surelyLeftBefore(other, call, tolerance) &&
          openUntil(other) > call.leftAt + uncertaintyMs(other.host, call.host, tolerance),
      ),
    );
    open.push(call);
  }
  return beside;
}

/** Never more than `maxInFlight` open. The number only grows when a call leaves, so it is counted there. */
export function checkInFlight(beside: Beside): { check: Check; most: number } {
  const findings = new Findings();
  let most = 0;
  for (const [call, others] of beside) {
    const open = others.length + 1;
    const { maxInFlight } = call.terms;
    most = Math.max(most, open);
    if (open > maxInFlight)
      findings.add(`${open} calls were open at once, where maxInFlight was ${maxInFlight}`, () => [
        ...others,
        call,
      ]);
  }
  return { check: findings.check, most };
}
