import { digest } from '../canonical.ts';
import type { LoggedCall, Terms } from './calls.ts';
import {
  DoctoredLogError,
  type LaneEpoch,
  NotASendLogError,
  type Opening,
  type SendLogContents,
} from './contents.ts';
import { type Line, type LineOf, readLine } from './lines.ts';

/** So many processes in a row don't die while they write their first line; a file of another kind ends here. */
const MOST_TORN = 16;

/** Lines that can't be read. They are a killed process's, if whoever wrote next says so; else somebody's work. */
interface Unread {
  readonly line: number;
  readonly problem: string;
  readonly texts: string[];
}

/** Reads a send log line by line, and believes none that is not in its place. */
export class SendLogReader {
  #lines = 0;
  #prev: string | null = null;
  #unread: Unread | null = null;
  #writer: LineOf<'log'> | null = null;
  readonly #nonces: string[] = [];
  readonly #openings: Opening[] = [];
  readonly #handovers: LaneEpoch[] = [];
  readonly #calls = new Map<string, LoggedCall>();
  /** of the epochs that this writer holds now */
  readonly #terms = new Map<string, Terms>();
  /** calls of this writer that have not ended */
  readonly #open = new Map<string, LineOf<'left'>>();

  /**
   * Takes the next line, without its line break.
   *
   * @throws DoctoredLogError NotASendLogError
   */
  take(text: string): void {
    this.#lines++;
    const read = readLine(text);
    if (read.ok) return this.#place(read.line);
    if (this.#unread !== null) this.#unread.texts.push(text);
    else this.#unread = { line: this.#lines, problem: read.problem, texts: [text] };
    if (this.#unread.texts.length > MOST_TORN)
      throw this.#writer === null ? notASendLog(this.#unread) : doctored(this.#unread);
  }

  /**
   * Takes what stands behind the last line break, and gives the whole.
   *
   * @throws DoctoredLogError NotASendLogError
   */
  end(tail: string): SendLogContents {
    const torn = tail !== '' && !readLine(tail).ok;
    if (tail !== '' && !torn) this.take(tail);
    if (this.#writer === null) throw notASendLog(this.#unread);
    // A line that ends with a line break was written whole.
    if (this.#unread !== null && !torn) throw doctored(this.#unread);
    return {
      nonces: this.#nonces,
      openings: this.#openings,
      handovers: this.#handovers,
      calls: [...this.#calls.values()],
      tornLine: torn ? (this.#unread?.line ?? this.#lines + 1) : null,
    };
  }

  #place(line: Line): void {
    const torn = this.#unread === null ? null : digest(this.#unread.texts.join('\n'));
    if (this.#unread !== null && !(line.kind === 'log' && line.torn === torn)) throw doctored(this.#unread);
    if (line.prev !== this.#prev)
      throw this.#fault('prev: is not the hash of the line before; lines were removed, inserted or moved');
    if (line.kind === 'log' && line.torn !== torn)
      throw this.#fault('torn: tells of a torn line before this one, which was removed');
    this.#unread = null;
    this.#prev = line.hash;
    this.#enter(line);
  }

  #enter(line: Line): void {
    if (line.kind === 'log') {
      this.#writer = line;
      this.#nonces.push(line.nonce);
      // What an earlier process held or had open, it does not hold any more, and nobody will end it.
      this.#terms.clear();
      this.#open.clear();
      return;
    }
    if (this.#writer === null) throw this.#fault('kind: expected log in the first line');
    switch (line.kind) {
      case 'opened': {
        const { lane, epoch, limit, maxInFlight, timeoutMs } = line;
        this.#openings.push({ lane, epoch, nonce: this.#writer.nonce, process: this.#writer.process });
        this.#terms.set(nameOf(line), { limit, maxInFlight, timeoutMs });
        return;
      }
      case 'limits':
        this.#terms.set(nameOf(line), {
          ...this.#termsOf(line),
          limit: line.limit,
          maxInFlight: line.maxInFlight,
        });
        return;
      case 'handedOver':
        this.#termsOf(line);
        this.#terms.delete(nameOf(line));
        this.#handovers.push({ lane: line.lane, epoch: line.epoch });
        return;
      case 'left':
        return this.#leave(line, this.#writer);
      case 'answered':
        return this.#answer(line);
      case 'call':
        return this.#endCall(line);
    }
  }

  #leave(line: LineOf<'left'>, { process, host }: LineOf<'log'>): void {
    if (this.#calls.has(line.call)) throw this.#fault('call: has left before');
    const { call: id, lane, epoch, key, attempt, sha256, lookup, probe, leftAt } = line;
    const terms = this.#termsOf(line);
    this.#open.set(id, line);
    this.#calls.set(id, {
      id,
      lane,
      epoch,
      key,
      attempt,
      sha256,
      lookup,
      probe,
      leftAt,
      process,
      host,
      terms,
      answeredAt: null,
      end: null,
    });
  }

  #answer(line: LineOf<'answered'>): void {
    const { call } = this.#openCall(line.call);
    if (call.answeredAt !== null) throw this.#fault('call: was answered before');
    if (line.answeredAt < call.leftAt) throw this.#fault('answeredAt: expected nothing before leftAt');
    this.#calls.set(line.call, { ...call, answeredAt: line.answeredAt });
  }

  #endCall(line: LineOf<'call'>): void {
    const { call, left } = this.#openCall(line.call);
    const changed = DEPARTURE.find((field) => left[field] !== line[field]);
    if (changed !== undefined) throw this.#fault(`${changed}: expected what the call's "left" line says`);
    const { answeredAt, endedAt, verdict, retryAfterMs } = line;
    if (call.answeredAt !== null && call.answeredAt !== answeredAt)
      throw this.#fault('answeredAt: expected what the call\'s "answered" line says');
    this.#open.delete(line.call);
    this.#calls.set(line.call, { ...call, answeredAt, end: { endedAt, verdict, retryAfterMs } });
  }

  #openCall(id: string): { call: LoggedCall; left: LineOf<'left'> } {
    const left = this.#open.get(id);
    const call = this.#calls.get(id);
    if (left === undefined || call === undefined) throw this.#fault('call: expected one that is open');
    return { call, left };
  }

  #termsOf(line: LaneEpoch): Terms {
    const terms = this.#terms.get(nameOf(line));
    if (terms === undefined)
      throw this.#fault(`epoch: expected one that its process has opened, got ${line.epoch} of ${line.lane}`);
    return terms;
  }

  #fault(problem: string): DoctoredLogError {
    return new DoctoredLogError(this.#lines, problem);
  }
}

/** What a call's two lines both say. */
const DEPARTURE = ['lane', 'epoch', 'key', 'attempt', 'sha256', 'lookup', 'probe', 'leftAt'] as const;

function nameOf({ lane, epoch }: LaneEpoch): string {
  return `${epoch} of ${lane}`;
}

function doctored({ line, problem }: Unread): DoctoredLogError {
  return new DoctoredLogError(line, problem);
}

function notASendLog(unread: Unread | null): NotASendLogError {
  const problem = unread === null ? 'it holds no whole line' : `line ${unread.line}: ${unread.problem}`;
  return new NotASendLogError(`expected a send log; ${problem}`);
}
