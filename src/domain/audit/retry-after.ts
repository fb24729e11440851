import {
  type LoggedCall,
  type Tolerance,
  answeredAt,
  countUpTo,
  groupBy,
  openUntil,
  uncertaintyMs,
} from './calls.ts';
import { type CallReference, type Check, Findings, referenceTo } from './checks.ts';

/** An answer that closed the lane. */
interface Ask {
  readonly call: LoggedCall;
  /** when the whole answer was there: what left before could not know */
  readonly knownAt: number;
  readonly until: number;
}

/**
 * Never before Retry-After: no call, of whichever key, leaves before an earlier throttling answer allows it.
 *
 * @param calls of one lane, in the order of departure
 * @param mayProbe the calls that may be early since they were the first, and alone, after a crash: what the lost
 *   holder had just learned was lost with it
 */
export function checkRetryAfter(
  calls: readonly LoggedCall[],
  mayProbe: ReadonlySet<LoggedCall>,
  tolerance: Tolerance,
): { check: Check; earlyProbes: readonly CallReference[] } {
  const hosts = [...groupBy(calls, ({ host }) => host)].map(([host, members]) => new Asks(host, members));
  const findings = new Findings();
  const earlyProbes: CallReference[] = [];
  for (const call of calls) {
    const ask = latest(hosts.map((host) => host.brokenBy(call, tolerance)));
    if (ask === undefined) continue;
    const earlyMs = Math.round((ask.until - call.leftAt) * 1_000) / 1_000;
    if (mayProbe.has(call)) earlyProbes.push(referenceTo(call));
    else findings.add(`a call left ${earlyMs} ms before Retry-After allowed`, () => [ask.call, call]);
  }
  return { check: findings.check, earlyProbes };
}

/** What the answers that one host got asked for. */
class Asks {
  readonly #host: string;
  /** ascending */
  readonly #knownAt: readonly number[];
  /** at each position, the one of those up to there that closes the lane for longest */
  readonly #longest: readonly Ask[];

  constructor(host: string, calls: readonly LoggedCall[]) {
    const asks = calls.flatMap(askOf).sort((a, b) => a.knownAt - b.knownAt);
    let longest: Ask | undefined;
    this.#host = host;
    this.#knownAt = asks.map(({ knownAt }) => knownAt);
    this.#longest = asks.map((ask) => (longest = later(longest, ask)));
  }

  /** The one that asked this call to leave later than it did. */
  brokenBy(call: LoggedCall, tolerance: Tolerance): Ask | undefined {
    const uncertainty = uncertaintyMs(this.#host, call.host, tolerance);
    const known = countUpTo(this.#knownAt, call.leftAt - uncertainty);
    const longest = this.#longest[known - 1];
    return longest !== undefined && call.leftAt + uncertainty < longest.until ? longest : undefined;
  }
}

/** Of other answers a Retry-After closes no lane: a 200 that carries one does not mean the next call. */
function askOf(call: LoggedCall): Ask[] {
  const answered = answeredAt(call);
  if (call.end?.verdict !== 'throttled' || answered === null || call.end.retryAfterMs === null) return [];
  return [{ call, knownAt: openUntil(call), until: answered + call.end.retryAfterMs }];
}

function later(best: Ask | undefined, ask: Ask): Ask {
  return best === undefined || ask.until > best.until ? ask : best;
}

function latest(asks: readonly (Ask | undefined)[]): Ask | undefined {
  return asks.reduce((best, ask) => (ask === undefined ? best : later(best, ask)), undefined);
}
