import type { CallEnd, Verdict } from '../domain/verdict.ts';
import type { Departure, Gate } from './gate.ts';
import type { LaneSendLog, OpenEntry } from './send-log.ts';
import type { UpstreamRequest } from './upstream-connection.ts';
import type { Upstream } from './upstream.ts';

export interface SenderParts {
  readonly gate: Gate;
  readonly upstream: Upstream;
  /** null: calls are not logged */
  readonly log: LaneSendLog | null;
  /** Ends the hold of the lane: it can't be used as it should. */
  readonly fail: (error: unknown) => void;
}

/** A call that has come to an end, and is still counted as open. */
export interface SentCall {
  readonly end: CallEnd;
  /** it went alone, after the lane had been closed */
  readonly probe: boolean;
  /** From now on it counts as ended. To be called once, when the gate knows what it taught. */
  close(told: { verdict: Verdict; retryAfter: string | null; retryAfterMs: number | null }): void;
}

/** Sends calls the one way that there is: connection, gate, log, and only then the first byte. */
export class Sender {
  readonly #parts: SenderParts;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Undefined when the lane no longer let the call leave once its connection stood. */
  async send(request: UpstreamRequest, key: string, attempt: number): Promise<SentCall | undefined> {
    const { gate, upstream } = this.#parts;
    let left: LeftCall | undefined;
    const observer = {
      mayLeave: () => {
        left = this.#leave(request, key, attempt);
        return left !== undefined;
      },
      answered: () => {
        const answeredMs = left?.departure.answered();
        if (answeredMs !== undefined) left?.entry?.answered(answeredMs);
      },
    };
    const end = await upstream.call(request, observer, { key, attempt });
    if (end.kind === 'kept') return undefined;
    return {
      end,
      probe: left?.departure.probe ?? gate.state.probing,
      close: ({ verdict, retryAfter, retryAfterMs }) => {
        // Without a connection it never left, so there is nothing to close.
        if (left === undefined) return;
        const endedMs = left.departure.ended();
        const ended = end.kind === 'answered' ? end.status : end.code;
        left.entry?.ended({ endedMs, verdict, end: ended, retryAfter, retryAfterMs });
      },
    };
  }

  #leave({ method, path, body }: UpstreamRequest, key: string, attempt: number): LeftCall | undefined {
    const { gate, log, fail } = this.#parts;
    const departure = gate.depart();
    if (departure === undefined) return undefined;
    const { probe, leftMs } = departure;
    try {
      return { departure, entry: log?.left({ key, attempt, method, path, body, probe, leftMs }) };
    } catch (error) {
      // A call that nobody can account for must not leave, nor any after it.
      departure.ended();
      fail(error);
      return undefined;
    }
  }
}

interface LeftCall {
  readonly departure: Departure;
  readonly entry: OpenEntry | undefined;
}
