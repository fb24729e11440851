import { userInfo } from 'node:os';
import type { FastifyInstance } from 'fastify';
import { type Caller, type Scope, everythingAllowed } from './caller.ts';
import type { KeyRing } from './key-ring.ts';
import { ProblemError, problemResponses } from './problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
  interface FastifyContextConfig {
    /** what a key must be good for */
    scope?: Scope;
  }
}

/** Lets nobody through to the routes of this scope who has not shown a key that is good for the route. */
export function authenticated(app: FastifyInstance, keys: KeyRing | null): void {
  const local = keys === null ? everythingAllowed(userInfo().username) : undefined;
  app.decorateRequest('caller');
  app.addHook('onRoute', ({ schema }) => {
    if (schema === undefined || schema.hide === true) return;
    // An empty one says that it also goes without.
    schema.security = local === undefined ? [{ key: [] }] : [{}, { key: [] }];
    schema.response = { ...problemResponses(401, 403, 429, 503), ...Object(schema.response) };
  });
  app.addHook('onRequest', async (request) => {
    const caller = local ?? keys?.callerOf(presentedKey(request.headers.authorization));
    if (caller === undefined) throw unauthorized('Authorization: no such key, or not any more');
    request.caller = caller;
    const { scope } = request.routeOptions.config;
    if (scope === undefined || !caller.has(scope))
      throw new ProblemError('forbidden', `the key "${caller.name}" is not good for: ${scope}`);
  });
}

function presentedKey(header: string | undefined): string {
  const key = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
  if (key === undefined) throw unauthorized('Authorization: expected "Bearer <key>"');
  return key;
}

function unauthorized(detail: string): ProblemError {
  return new ProblemError('unauthorized', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
