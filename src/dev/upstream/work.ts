import { randomUUID } from 'node:crypto';
import { answerDone, answerProblem, answerStatus, answerThrottle, type Ending } from './answer.ts';
import { unknownFault, type Fault } from './faults.ts';
import type { Mode } from './records.ts';
import type { UpstreamStore } from './store.ts';
import { wait } from './wait.ts';

/** A request within the quota, whose body came whole. */
export interface Operation {
  readonly sequence: number;
  readonly key: string | null;
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
  readonly bodySha256: string;
  /** aborted when the client has gone */
  readonly gone: AbortSignal;
}

/** What the upstream does when it is asked for an operation, and how that request ends. */
export class Work {
  readonly #store: UpstreamStore;
  readonly #mode: Mode;
  readonly #stopping: AbortSignal;
  /** Keys that are being worked on in mode `keys`, each with the arrival that does so. */
  readonly #inProgress = new Map<string, number>();

  constructor(store: UpstreamStore, mode: Mode, stopping: AbortSignal) {
    this.#store = store;
    this.#mode = mode;
    this.#stopping = stopping;
  }

  /** Does the operation, or what the fault makes of it. A commit comes before the answer's latency. */
  async do(operation: Operation, fault: Fault | undefined): Promise<Ending> {
    if (this.#mode === 'keys' && operation.key === null)
      return answerProblem(400, 'Idempotency-Key: expected a header with a key, got none');
    if (fault === undefined) return this.#complete(operation);
    switch (fault.type) {
      case 'throttle':
        return answerThrottle(fault, new Date());
      case 'status':
        if (fault.effect === 'committed') this.#complete(operation);
        return answerStatus(fault);
      case 'delay':
        return this.#delay(operation, fault);
      case 'lostResponse':
        this.#complete(operation);
        return { type: 'reset' };
      case 'reset':
        return { type: 'reset' };
      case 'closed':
        return { type: 'closed', forMs: fault.forMs };
      case 'hang':
        if (fault.effect === 'committed') this.#complete(operation);
        return { type: 'silence' };
      default:
        return unknownFault(fault);
    }
  }

  /** To be called when the operation's request is over and nothing more will be done for it. */
  release({ key, sequence }: Pick<Operation, 'key' | 'sequence'>): void {
    if (key !== null && this.#inProgress.get(key) === sequence) this.#inProgress.delete(key);
  }

  async #delay(operation: Operation, fault: Extract<Fault, { type: 'delay' }>): Promise<Ending> {
    if (fault.effect === 'committed') {
      const ending = this.#complete(operation);
      await wait(fault.ms, AbortSignal.any([operation.gone, this.#stopping]));
      return ending;
    }
    // A server that is slow to begin doesn't notice that its client gave up: the effect comes late.
    const claimed = this.#claim(operation);
    await wait(fault.ms, this.#stopping);
    if (this.#stopping.aborted) return { type: 'silence' };
    return claimed ? this.#complete(operation) : answerInProgress();
  }

  /** Commits, unless the key's effect is there or on its way, and says how that went. */
  #complete(operation: Operation): Ending {
    if (!this.#claim(operation)) return answerInProgress();
    const { key, method, path, body, bodySha256 } = operation;
    const id = `eff_${randomUUID()}`;
    const { first, effect } = this.#store.commit({
      id,
      key,
      method,
      path,
      bodySha256,
      body,
      atMs: Date.now(),
    });
    if (first) return answerDone(effect, false);
    const same = effect.method === method && effect.path === path && effect.bodySha256 === bodySha256;
    if (same) return answerDone(effect, true);
    return answerProblem(422, `key ${JSON.stringify(key)} was used for another method, path or body`);
  }

  #claim({ key, sequence }: Operation): boolean {
    if (this.#mode !== 'keys' || key === null) return true;
    const holder = this.#inProgress.get(key) ?? sequence;
    this.#inProgress.set(key, holder);
    return holder === sequence;
  }
}

function answerInProgress(): Ending {
  return answerProblem(409, 'expected no other request with this key in progress');
}
