import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type LineOf, MAX_RAW_RETRY_AFTER } from '../domain/audit/lines.ts';
import type { Limit } from '../domain/policy.ts';
import type { Verdict } from '../domain/verdict.ts';
import { ownFile } from '../own-file.ts';
import { SendLogError, SendLogFile, type SendLogWriter, instantNow, instantOf } from './send-log-file.ts';

export { SendLogError, type SendLogWriter } from './send-log-file.ts';

/** Who holds a lane, and by what it goes. */
export interface HolderTerms {
  readonly lane: string;
  /** counts the lane's holders */
  readonly epoch: number;
  readonly holder: string;
  readonly limit: Limit;
  readonly maxInFlight: number;
  readonly timeoutMs: number;
}

/** A call that is about to leave. */
export interface LeavingCall {
  readonly key: string;
  readonly attempt: number;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** it goes alone, after the lane had been closed */
  readonly probe: boolean;
  /** the very reading of `performance.now()` by which the gate let it go: another would prove something else */
  readonly leftMs: number;
}

/** What became of it. */
export interface EndedCall {
  /** the gate's reading of `performance.now()` when the call no longer counted as open */
  readonly endedMs: number;
  readonly verdict: Verdict;
  /** the status, or the network's code where there was none */
  readonly end: number | string;
  /** as it came, secrets blanked */
  readonly retryAfter: string | null;
  /** what we took it for; null: not usable */
  readonly retryAfterMs: number | null;
}

const TAKEN = 'expected a send log of its own for each process, but another one is writing to it';

export interface OwnedSendLog {
  readonly log: SendLog;
  /** From now on no call can leave, and another process may go on with the file. */
  readonly close: () => Promise<void>;
}

/**
 * Opens a process's send log for it alone: the lines of two would mix, and look like somebody's forgery.
 *
 * @throws SendLogError when another process has it open, when the file is something else, or can't be written
 */
export async function ownSendLog(file: string, writer: SendLogWriter): Promise<OwnedSendLog> {
  const disown = await owned(file);
  try {
    const log = openSendLog(file, writer);
    return {
      log,
      close: async () => {
        log.close();
        await disown();
      },
    };
  } catch (error) {
    await disown();
    throw error;
  }
}

async function owned(file: string): Promise<() => Promise<void>> {
  try {
    mkdirSync(dirname(file), { recursive: true });
    return await ownFile(file, TAKEN);
  } catch (error) {
    throw new SendLogError(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Opens a send log behind what is there already, and makes its folders.
 *
 * @throws SendLogError when the file is something else, or can't be written
 */
export function openSendLog(file: string, writer: SendLogWriter): SendLog {
  return new SendLog(new SendLogFile(file, writer));
}

/** What a process sent upstream: the evidence that `onelane audit` reads. `docs/send-log.md` has its lines. */
export class SendLog {
  readonly #file: SendLogFile;
  #calls = 0;

  constructor(file: SendLogFile) {
    this.#file = file;
  }

  /** Tells that this process holds a lane from now on. */
  opened(terms: HolderTerms): LaneSendLog {
    const { lane, epoch, holder, limit, maxInFlight, timeoutMs } = terms;
    this.#file.write({
      kind: 'opened',
      lane,
      epoch,
      holder,
      limit: limitFields(limit),
      maxInFlight,
      timeoutMs,
      at: instantNow(),
    });
    return new LaneSendLog(this.#file, terms, () => `${this.#file.nonce}:${++this.#calls}`);
  }

  /** From now on no call can leave. */
  close(): void {
    this.#file.close();
  }
}

/** The send log of one lane, for as long as this process holds it. */
export class LaneSendLog {
  readonly #file: SendLogFile;
  readonly #terms: HolderTerms;
  readonly #nextCall: () => string;
  /** calls whose status came, and whose end has not */
  readonly #answered = new Set<OpenEntry>();

  constructor(file: SendLogFile, terms: HolderTerms, nextCall: () => string) {
    this.#file = file;
    this.#terms = terms;
    this.#nextCall = nextCall;
  }

  /**
   * Tells that a call leaves. To be called when the gate has let it go and before its first byte is out, since
   * a process that is killed during the call must have left this line.
   *
   * @throws SendLogError when that can't be written: the call must not leave
   */
  left({ key, attempt, method, path, body, probe, leftMs }: LeavingCall): OpenEntry {
    const { lane, epoch, holder } = this.#terms;
    const sha256 = createHash('sha256').update(`${method} ${path}\n${body}`).digest('hex');
    const call = this.#nextCall();
    // No operation of a lane is a GET.
    const lookup = method === 'GET';
    const departure = { call, lane, epoch, key, attempt, sha256, lookup, probe, leftAt: instantOf(leftMs) };
    // The gate may let this one go because those were answered. Killed now, we must have said so.
    for (const entry of this.#answered) entry.writeAnswered();
    this.#answered.clear();
    this.#file.write({ kind: 'left', ...departure });
    this.#file.assertUsable();
    return new OpenEntry(this.#file, { ...departure, holder }, this.#answered);
  }

  /** Tells of an override: calls that leave from now on go by it. */
  limits({ limit, maxInFlight }: Pick<HolderTerms, 'limit' | 'maxInFlight'>): void {
    const { lane, epoch } = this.#terms;
    this.#file.write({
      kind: 'limits',
      lane,
      epoch,
      limit: limitFields(limit),
      maxInFlight,
      at: instantNow(),
    });
  }

  /** Tells that whoever holds the lane next gets to know all that is known here, so no call may be early. */
  handedOver(): void {
    const { lane, epoch } = this.#terms;
    this.#file.write({ kind: 'handedOver', lane, epoch, at: instantNow() });
  }
}

type Departure = Omit<LineOf<'left'>, 'kind' | 'prev' | 'hash'> & { readonly holder: string };

/** A call that has left. What is told of it never throws: a log that fails must not lose a call's outcome. */
export class OpenEntry {
  readonly #file: SendLogFile;
  readonly #departure: Departure;
  readonly #answered: Set<OpenEntry>;
  #answeredAt: number | null = null;

  constructor(file: SendLogFile, departure: Departure, answered: Set<OpenEntry>) {
    this.#file = file;
    this.#departure = departure;
    this.#answered = answered;
  }

  /** Tells that the status came; `ms` is the gate's reading of `performance.now()`. */
  answered(ms: number): void {
    this.#answeredAt = instantOf(ms);
    this.#answered.add(this);
  }

  writeAnswered(): void {
    const { call } = this.#departure;
    if (this.#answeredAt !== null) this.#file.write({ kind: 'answered', call, answeredAt: this.#answeredAt });
  }

  /** Tells, once, what became of the call. */
  ended({ endedMs, verdict, end, retryAfter, retryAfterMs }: EndedCall): void {
    this.#answered.delete(this);
    this.#file.write({
      kind: 'call',
      ...this.#departure,
      answeredAt: this.#answeredAt,
      verdict,
      end,
      retryAfter: retryAfter?.slice(0, MAX_RAW_RETRY_AFTER) ?? null,
      retryAfterMs,
      endedAt: instantOf(endedMs),
    });
  }
}

/** These and no others: a reader refuses what it does not know. */
function limitFields({ requests, perMs, burst, arrivalWithinMs }: Limit): Limit {
  return { requests, perMs, burst, arrivalWithinMs };
}
