import type { IncomingMessage } from 'node:http';
import { answerJson, answerProblem, answerStatus, answerThrottle, type Ending } from './answer.ts';
import { scriptedFault } from './faults.ts';
import type { LookupFault, ParsedLookupScript } from './lookup-faults.ts';
import type { Mode } from './records.ts';
import type { UpstreamStore } from './store.ts';

const PREFIX = '/effects/';

export interface LookupsContext {
  readonly store: UpstreamStore;
  readonly mode: Mode;
  readonly faults: ParsedLookupScript;
}

/** Answers whether a key has an effect, unless its script says otherwise. */
export class Lookups {
  readonly #context: LookupsContext;
  /** of this process: lookups need not be in the log */
  readonly #asked = new Map<string, number>();

  constructor(context: LookupsContext) {
    this.#context = context;
  }

  static is({ method, url = '' }: IncomingMessage): boolean {
    return method === 'GET' && url.startsWith(PREFIX);
  }

  /** Null where the path is no percent-encoded UTF-8. */
  static keyOf({ url = '' }: IncomingMessage): string | null {
    try {
      return decodeURIComponent(url.slice(PREFIX.length).replace(/\?.*$/s, ''));
    } catch {
      return null;
    }
  }

  endingOf(key: string | null): Ending {
    const { store, mode } = this.#context;
    if (mode === 'neither') return answerProblem(404, 'this upstream has no lookup by key');
    if (key === null) return answerProblem(400, 'key: expected percent-encoded UTF-8');
    const fault = this.#nextFault(key);
    if (fault !== undefined) return endingOf(fault, key);
    const effect = store.firstEffectOf(key);
    return effect ? answerJson(200, effect) : answerProblem(404, `no effect of key ${JSON.stringify(key)}`);
  }

  #nextFault(key: string): LookupFault | undefined {
    const { faults } = this.#context;
    const n = (this.#asked.get(key) ?? 0) + 1;
    this.#asked.set(key, n);
    const script = Object.hasOwn(faults, key) ? faults[key] : undefined;
    return script && scriptedFault(script, n);
  }
}

function endingOf(fault: LookupFault, key: string): Ending {
  switch (fault.type) {
    case 'throttle':
      return answerThrottle(fault, new Date());
    case 'status':
      return answerStatus(fault);
    case 'otherRecord':
      return answerJson(200, { id: 'eff_of-another-key', key: `not ${key}` });
    case 'html':
      return {
        type: 'answer',
        status: 200,
        headers: { 'Content-Type': 'text/html' },
        body: '<!doctype html><title>Sign in</title>',
      };
    case 'reset':
      return { type: 'reset' };
    case 'hang':
      return { type: 'silence' };
  }
}
