import fastifyRateLimit from '@fastify/rate-limit';
import type { Client } from '@temporalio/client';
import fastify, { type FastifyInstance } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { authenticated } from './authenticate.ts';
import { failWith, sendProblem } from './fail.ts';
import { takeJsonBodies } from './json-body.ts';
import type { KeyRing } from './key-ring.ts';
import { refuseForeign } from './local-only.ts';
import { Malformed } from './malformed.ts';
import { refuseOtherMethods } from './methods.ts';
import { describeApi } from './openapi.ts';
import { ProblemError } from './problems.ts';
import { batchOrderRoutes } from './routes/batch-orders.ts';
import { batchRoutes } from './routes/batches.ts';
import { healthRoutes } from './routes/health.ts';
import { itemRoutes } from './routes/items.ts';
import { laneRoutes } from './routes/lanes.ts';
import { queueRoutes } from './routes/queue.ts';
import { uploadRoutes } from './routes/uploads.ts';
import { mustBeClear } from './said-once.ts';
import { cutUnfinishedOnClose } from './unfinished.ts';

/** A page of a batch is at most 1 MiB; there may be as much white space around it. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** A key of 255 bytes, each of them escaped. */
const MAX_PARAM_LENGTH = 765;
/** Without a byte in either direction. Longer than anybody may wait for admissions. */
const IDLE_MS = 90_000;
const HEADERS_WITHIN_MS = 20_000;
/** The whole of the longest upload, over a line of 300 kB/s. */
const REQUEST_WITHIN_MS = 3_600_000;

export interface ApiOptions {
  readonly client: Client;
  /** null: no key is configured, so that requests must come from this machine, and not from a foreign page */
  readonly keys: KeyRing | null;
  /** how many requests a client may make in a time */
  readonly limit: { readonly requests: number; readonly perMs: number };
  readonly say: (line: string) => void;
}

export type TypedApi = ReturnType<typeof typed>;

/** The provider that makes handlers see what zod has parsed. */
export function typed(app: FastifyInstance) {
  return app.withTypeProvider<ZodTypeProvider>();
}

/** The HTTP service: it validates, enqueues, and tells what became of it. All that lasts is in Temporal. */
export async function createApi({ client, keys, limit, say }: ApiOptions): Promise<FastifyInstance> {
  const malformed = new Malformed();
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    connectionTimeout: IDLE_MS,
    requestTimeout: REQUEST_WITHIN_MS,
    // The answer of Fastify's own is no problem document; whoever asks while we stop is still answered.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      failWith(say)(error, request, reply);
    },
    clientErrorHandler: (error, socket) => malformed.answer(error, socket),
    // Its own answer is no problem document.
    http: { requireHostHeader: false },
  });
  app.server.headersTimeout = HEADERS_WITHIN_MS;
  malformed.watch(app.server);
  cutUnfinishedOnClose(app);
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler(failWith(say));
  app.setNotFoundHandler((request, reply) =>
    sendProblem(reply, new ProblemError('not-found', `${request.method} ${request.url}: no such path`)),
  );
  takeJsonBodies(app);
  app.addHook('onRequest', async (request) => mustBeClear(request));
  if (keys === null) app.addHook('onRequest', async (request) => refuseForeign(request));
  await describeApi(app);
  const routesAreComplete = refuseOtherMethods(app);

  const context = { client };
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  healthRoutes(typed(app), context);
  await app.register(async (guarded) => {
    authenticated(guarded, keys);
    await guarded.register(fastifyRateLimit, {
      max: limit.requests,
      timeWindow: limit.perMs,
      keyGenerator: ({ caller }) => caller.id,
      errorResponseBuilder: (_request, { max, ttl }) =>
        new ProblemError('too-many-requests', `more than ${max} requests; the next one in ${ttl} ms`),
    });
    const routes = typed(guarded);
    batchRoutes(routes, context);
    batchOrderRoutes(routes, context);
    itemRoutes(routes, context);
    laneRoutes(routes, context);
    queueRoutes(routes, context);
    await guarded.register(async (uploads) => uploadRoutes(uploads, context));
  });
  routesAreComplete();
  return app;
}
