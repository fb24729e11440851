import { METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ProblemError } from './problems.ts';

/** That of tunnels never becomes a request. */
const ALL = METHODS.filter((method) => method !== 'CONNECT');

/**
 * Answers 405 with `Allow` where a path is known and the method isn't.
 *
 * @returns to be called when all routes are there
 */
export function refuseOtherMethods(app: FastifyInstance): () => void {
  for (const method of ALL)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const known = methodsOf.get(url) ?? new Set();
    for (const one of [method].flat()) known.add(one);
    methodsOf.set(url, known);
  });
  return () => {
    for (const [url, known] of methodsOf) {
      const others = ALL.filter((method) => !known.has(method));
      const allow = ALL.filter((method) => known.has(method)).join(', ');
      app.route({
        url,
        method: others,
        schema: { hide: true },
        // Before anybody looks at its body.
        onRequest: async ({ method }) => {
          throw new ProblemError('method-not-allowed', `${method}: expected one of ${allow}`, {
            headers: { Allow: allow },
          });
        },
        handler: () => {},
      });
    }
  };
}
