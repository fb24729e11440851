import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerJson, answerProblem, type Answer } from './answer.ts';
import type { Mode } from './records.ts';
import { statsOf } from './stats.ts';
import type { UpstreamStore } from './store.ts';
import type { Quota } from './window.ts';

const CONTROL_PATH = /^\/(?:effects|arrivals|stats)(?:$|[/?])/;
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

function readEnding({ store, mode, quota }: ReadsContext, request: IncomingMessage): Answer {
  const path = (request.url ?? '').replace(/\?.*$/s, '');
  if (!CONTROL_PATH.test(path)) return answerProblem(404, `no such path: ${path}`);
  if (request.method !== 'GET')
    return answerProblem(405, `${path}: expected GET, got ${request.method}`, { Allow: 'GET' });
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
