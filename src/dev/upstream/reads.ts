import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerJson, answerProblem, type Answer } from './answer.ts';
import type { Mode } from './records.ts';
import { statsOf } from './stats.ts';
import type { UpstreamStore } from './store.ts';
import type { Quota } from './window.ts';

const CONTROL_PATH = /^\/(?:effects|arrivals|stats)(?:$|[/?])/;
const LOOKUP_PREFIX = '/effects/';
const OPERATION_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'];

export function isOperation({ method = '', url = '' }: IncomingMessage): boolean {
  return OPERATION_METHODS.includes(method) && !CONTROL_PATH.test(url);
}

export interface ReadsContext {
  readonly store: UpstreamStore;
  readonly mode: Mode;
  readonly quota: Quota;
}

/** Answers whatever is no operation. Reads are free: neither counted nor delayed. */
export function answerRead(context: ReadsContext, request: IncomingMessage, response: ServerResponse): void {
  const ending = readEnding(context, request);
  response.writeHead(ending.status, ending.headers).end(ending.body);
  // The body of a refused request is read away, so that its connection can go on.
  request.resume();
}

function readEnding(context: ReadsContext, request: IncomingMessage): Answer {
  const { store, mode, quota } = context;
  const path = (request.url ?? '').replace(/\?.*$/s, '');
  if (!CONTROL_PATH.test(path)) return answerProblem(404, `no such path: ${path}`);
  if (request.method !== 'GET')
    return answerProblem(405, `${path}: expected GET, got ${request.method}`, { Allow: 'GET' });
  if (path.startsWith(LOOKUP_PREFIX)) return lookup(context, path.slice(LOOKUP_PREFIX.length));
  const { effects, arrivals } = store.tables();
  switch (path) {
    case '/effects':
      return answerJson(200, effects);
    case '/arrivals':
      return answerJson(200, arrivals);
    case '/stats':
      return answerJson(200, statsOf(arrivals, effects, quota, mode));
    default:
      return answerProblem(404, `no such path: ${path}`);
  }
}

function lookup({ store, mode }: ReadsContext, encodedKey: string): Answer {
  if (mode === 'neither') return answerProblem(404, 'this upstream has no lookup by key');
  let key: string;
  try {
    key = decodeURIComponent(encodedKey);
  } catch {
    return answerProblem(400, `key: expected percent-encoded UTF-8, got ${encodedKey}`);
  }
  const effect = store.firstEffectOf(key);
  return effect ? answerJson(200, effect) : answerProblem(404, `no effect of key ${JSON.stringify(key)}`);
}
