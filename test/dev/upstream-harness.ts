import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startUpstream, type Upstream, type UpstreamOptions } from '../../src/dev/upstream/server.ts';

/** A quota that no test reaches by accident. */
export const PLENTY = { requests: 10_000, perMs: 1_000 };

export async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'onelane-upstream-'));
  try {
    await test(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs a test against an upstream of its own: mode `keys` and no quota to speak of, unless it says otherwise. */
export async function withUpstream(
  options: Partial<UpstreamOptions>,
  test: (upstream: Upstream) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const upstream = await startUpstream({
      file: join(folder, 'upstream.db'),
      mode: 'keys',
      quota: PLENTY,
      ...options,
    });
    try {
      await test(upstream);
    } finally {
      await upstream.close();
    }
  });
}

export interface Sent {
  readonly key?: string;
  readonly body?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export async function send({ url }: { readonly url: string }, sent: Sent): Promise<Got> {
  const { key, body = '{}', path = '/releases', method = 'POST', headers, signal = null } = sent;
  const named = key === undefined ? headers : { 'Idempotency-Key': key, ...headers };
  const response = await fetch(url + path, { method, body, headers: named ?? {}, signal });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export async function read(upstream: { readonly url: string }, path: string): Promise<Got> {
  const response = await fetch(upstream.url + path);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Sends what is expected to end without an answer, and gives the system's code for why. */
export async function sendInVain(upstream: { readonly url: string }, sent: Sent): Promise<unknown> {
  try {
    const { status } = await send(upstream, sent);
    return `answered ${status}`;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    return cause instanceof Error && 'code' in cause ? cause.code : error;
  }
}

/** Waits for something to become true; ten seconds are far more than anything here takes. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + 10_000;
  while (!(await holds())) {
    assert.ok(performance.now() < giveUpAt, `waited in vain for: ${what}`);
    await setTimeout(5);
  }
}
