import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { z } from 'zod';
import { type ApiOptions, createApi } from '../../src/api/app.ts';
import type { Grant } from '../../src/api/caller.ts';
import { KeyRing } from '../../src/api/key-ring.ts';
import { createKey } from '../../src/api/keys-file.ts';
import { lazyClient } from '../../src/connection.ts';
import { PROBLEM_TYPE, type Problem, ProblemSchema } from '../../src/api/problems.ts';

/** A limit that no test reaches by accident. */
const PLENTY = { requests: 1_000_000, perMs: 1_000 };

export interface RunningApi {
  readonly url: string;
  /** what it told its log */
  readonly said: string[];
  close(): Promise<void>;
}

/** The HTTP service in this process, on a port of its own. */
export async function startApi(client: Client, options: Partial<ApiOptions> = {}): Promise<RunningApi> {
  const said: string[] = [];
  const app = await createApi({
    client,
    keys: null,
    limit: PLENTY,
    say: (line) => void said.push(line),
    ...options,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, said, close: () => app.close() };
}

/** A keys file of a test's own, with one key for each grant, by name. */
export async function keysFor<Name extends string>(grants: Record<Name, Grant>) {
  const folder = await mkdtemp(join(tmpdir(), 'onelane-keys-'));
  const file = join(folder, 'keys.json');
  const keys: { [name: string]: string } = {};
  for (const [name, grant] of Object.entries<Grant>(grants))
    keys[name] = (await createKey(file, name, grant)).key;
  return {
    file,
    ring: new KeyRing(file),
    /** as an Authorization header */
    bearer: (name: Name) => ({ Authorization: `Bearer ${keys[name]}` }),
    remove: () => rm(folder, { recursive: true }),
  };
}

export type Keys<Name extends string> = Awaited<ReturnType<typeof keysFor<Name>>>;

/** The keys of a file in which there are none: nobody is let in. */
export function noKeys(): KeyRing {
  return new KeyRing(join(tmpdir(), 'onelane-no-such-keys.json'));
}

/** A client of a Temporal that isn't there. */
export function awayClient(): Promise<Client> {
  return lazyClient({ env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
}

/** The OpenAPI document as the routes make it where keys are asked for, as it is kept in docs/openapi.json. */
export async function openApiText(): Promise<string> {
  const client = await awayClient();
  const app = await createApi({ client, keys: noKeys(), limit: PLENTY, say: () => {} });
  try {
    await app.ready();
    return `${JSON.stringify(app.swagger(), undefined, 2)}\n`;
  } finally {
    await app.close();
    await client.connection.close();
  }
}

export interface Asked {
  readonly method?: string;
  /** sent as JSON, unless it is a text already */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** what the text says as JSON, parsed by what it should be */
  as<T>(schema: z.ZodType<T>): T;
  /** the problem document that it must be */
  problem(): Problem;
}

/** One request. A body makes it a POST of JSON unless something else is said. */
export async function ask(
  url: string,
  path: string,
  { method, body, headers = {} }: Asked = {},
): Promise<Answered> {
  const response = await fetch(url + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    as: (schema) => schema.parse(JSON.parse(text)),
    problem: () => {
      assert.equal(response.headers.get('content-type'), PROBLEM_TYPE, text);
      const problem = ProblemSchema.parse(JSON.parse(text));
      assert.equal(problem.status, response.status);
      return problem;
    },
  };
}

/** Publishes a batch over HTTP. */
export function publishOver(
  url: string,
  batchId: string,
  lane: string,
  items: readonly unknown[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  return ask(url, '/v1/batches', {
    body: { lane, items },
    headers: { 'Idempotency-Key': batchId, ...headers },
  });
}
