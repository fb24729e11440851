import type { FastifyInstance, HTTPMethods } from 'fastify';
import { sendProblem } from './fail.ts';
import { ProblemError } from './problems.ts';

const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/**
 * Answers 405 with `Allow` where a path is known and the method isn't.
 *
 * @returns to be called when all routes are there
 */
export function refuseOtherMethods(app: FastifyInstance): () => void {
  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const known = methodsOf.get(url) ?? new Set();
    for (const one of [method].flat()) known.add(one);
    methodsOf.set(url, known);
  });
  return () => {
    for (const [url, known] of methodsOf) {
      const others = METHODS.filter((method) => !known.has(method));
      const allow = METHODS.filter((method) => known.has(method)).join(', ');
      app.route({
        url,
        method: others,
        schema: { hide: true },
        handler: (request, reply) =>
          sendProblem(
            reply,
            new ProblemError('method-not-allowed', `${request.method}: expected one of ${allow}`, {
              headers: { Allow: allow },
            }),
          ),
      });
    }
  };
}
