import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { parse, stringify } from 'yaml';
import { ConfigError, loadConfig } from '../src/config.ts';

export const folder = mkdtempSync(join(tmpdir(), 'onelane-config-'));
after(() => rmSync(folder, { recursive: true }));

/** The least that a lane must say. */
export const SOUND = `
lanes:
  releases:
    owner: release-engineering
    upstream:
      baseUrl: https://api.example/v1
      operations: { release: { method: POST, path: /releases } }
      idempotency: { window: 24h }
    limit: { requests: 5, per: 1s }
    retry: { budget: none }
    deadline: none
`;

export function load(content: string | Uint8Array, env: NodeJS.ProcessEnv = {}) {
  const file = join(folder, 'lanes.yaml');
  writeFileSync(file, content);
  return loadConfig(file, env);
}

/** The sound lane with one field set (or, with undefined, taken out). */
export function lane(...changes: [path: string, value: unknown][]): string {
  const file: unknown = parse(SOUND);
  for (const [path, value] of changes) {
    const steps = ['lanes', 'releases', ...path.split('.')];
    const last = steps.pop() ?? '';
    let at = asRecord(file);
    for (const step of steps) at = asRecord((at[step] ??= {}));
    if (value === undefined) delete at[last];
    else at[last] = value;
  }
  return stringify(file);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function asRecord(value: unknown): Record<string, unknown> {
  assert(isRecord(value));
  return value;
}

export function faults(content: string | Uint8Array, env: NodeJS.ProcessEnv = {}): string[] {
  try {
    load(content, env);
  } catch (error) {
    assert(error instanceof ConfigError, String(error));
    return error.faults.map(({ path, problem }) => `${path}: ${problem}`);
  }
  return [];
}

export function only(content: string, env: NodeJS.ProcessEnv = {}) {
  const config = load(content, env).lanes.get('releases');
  assert(config);
  return config;
}
