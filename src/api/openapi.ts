import { createRequire } from 'node:module';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';

const PackageSchema = z.object({ version: z.string() });
const { version } = PackageSchema.parse(createRequire(import.meta.url)('../../package.json'));

const DESCRIPTION = `Publishes batches of items to quota-limited lanes, tells what became of each, and operates them.

Everything may be asked twice: a batch is named by its \`Idempotency-Key\`, an item by its key. The same request again,
from wherever and however often, does nothing twice: a batch gives the same admissions, an item or a lane answers as it
is by then. After 429 or 503 wait as long as \`Retry-After\` says, and send the same request again.`;

/** Nothing from elsewhere, and nowhere else. The page's own pictures are in its style sheet. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; " +
  "base-uri 'self'; frame-ancestors 'none'";

/** Makes the OpenAPI document of the schemas of all routes that follow, and serves a page to read it at `/docs`. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'onelane',
        version,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'batches', description: 'Publish, and see what became of it' },
        { name: 'items', description: 'One operation, with evidence' },
        { name: 'lanes', description: 'One quota each' },
        { name: 'queue', description: 'For producers that were written for a plain queue API' },
        { name: 'service', description: 'Is it there?' },
      ],
      components: {
        securitySchemes: {
          key: {
            type: 'http',
            scheme: 'bearer',
            description:
              'made by `onelane keys create`; a service for which none is configured asks for none',
          },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: (document) => withoutUnused(jsonSchemaTransformObject(document)),
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    theme: { title: 'onelane: the HTTP service' },
  });
}

/** Every schema with a name is there twice, as it is read and as it is written; nearly all are needed once. */
function withoutUnused(document: ReturnType<typeof jsonSchemaTransformObject>) {
  const schemas = 'components' in document ? (document.components?.schemas ?? {}) : {};
  for (;;) {
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
    // What only an unused one names is unused, too.
    if (unused.length === 0) return document;
    for (const name of unused) delete schemas[name];
  }
}
