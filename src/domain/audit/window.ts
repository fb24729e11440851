import {
  type LoggedCall,
  type Tolerance,
  countUpTo,
  countedAt,
  groupBy,
  surelyLeftBefore,
  uncertaintyMs,
} from './calls.ts';
import { type Check, Findings } from './checks.ts';

/**
 * Never over quota in any window, proved from what was known here: when a call leaves, at most `requests` - 1
 * of the calls that left before it may be counted later than `perMs` ago.
 *
 * Why that is enough: say more than `requests` calls arrive within `perMs` at the upstream's door. Take the one
 * of them that left last. Each of the others left before it, and arrived, hence is counted, later than `perMs`
 * before that one arrived, and so later than `perMs` before it left. That is what this looks for.
 *
 * @param calls of one lane, in the order of departure
 * @returns also the most that were counted in any window, the call that closes it included
 */
export function checkWindow(
  calls: readonly LoggedCall[],
  tolerance: Tolerance,
): { check: Check; most: number } {
  const hosts = [...groupBy(calls, ({ host }) => host)].map(([host, members]) => ({
    host,
    left: members.map(({ leftAt }) => leftAt),
    counted: members.map(countedAt).sort((a, b) => a - b),
  }));
  const leftOfHost = new Map<string, number>();
  const findings = new Findings();
  let most = 0;
  for (const [position, call] of calls.entries()) {
    const { requests, perMs } = call.terms.limit;
    /** what is counted by then is out of the window */
    const startFor = (host: string) => call.leftAt - perMs + uncertaintyMs(host, call.host, tolerance);
    const leftHere = leftOfHost.get(call.host) ?? 0;
    let inWindow = 1;
    for (const { host, left, counted } of hosts) {
      const leftBefore =
        host === call.host
          ? leftHere
          : countUpTo(left, call.leftAt - uncertaintyMs(host, call.host, tolerance));
      // Whatever is out of the window by now has left before, so all others that have left are in it.
      inWindow += Math.max(0, leftBefore - countUpTo(counted, startFor(host)));
    }
    leftOfHost.set(call.host, leftHere + 1);
    most = Math.max(most, inWindow);
    if (inWindow > requests)
      findings.add(
        `${inWindow} calls may have arrived within ${perMs} ms, where the limit was ${requests}`,
        () => [
          ...calls
            .slice(0, position)
            .filter((other) => surelyLeftBefore(other, call, tolerance))
            .filter((other) => countedAt(other) > startFor(other.host)),
          call,
        ],
      );
  }
  return { check: findings.check, most };
}
