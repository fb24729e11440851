import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { DEV_FOLDER } from '../temporal/dev-file.ts';
import type { FaultScript } from '../upstream/faults.ts';
import { LANE, QUOTA, TIMEOUT_MS } from './settings.ts';

/** A run's own folder, and what is in it. */
export interface DemoFolder {
  /** the run's name, part of its keys and of its batch's ID */
  readonly run: string;
  readonly path: string;
  readonly lanes: string;
  readonly faults: string;
  /** the configuration of Temporal's client, for this run's server */
  readonly temporalConfig: string;
  readonly temporalDb: string;
  readonly upstreamDb: string;
  /** the file that takes what one of the processes writes */
  readonly log: (name: string) => string;
}

/** Makes `.onelane/demo/<run>/` below the working directory; no two runs get the same one. */
export async function makeFolder(cwd: string): Promise<DemoFolder> {
  const run = randomBytes(3).toString('hex');
  const parent = join(cwd, DEV_FOLDER, 'demo');
  await mkdir(parent, { recursive: true });
  const path = join(parent, run);
  // Not recursive: should the folder be there, it is another run's.
  await mkdir(path);
  return {
    run,
    path,
    lanes: join(path, 'lanes.yaml'),
    faults: join(path, 'faults.json'),
    temporalConfig: join(path, 'temporal.toml'),
    temporalDb: join(path, 'temporal.db'),
    upstreamDb: join(path, 'upstream.db'),
    log: (name) => join(path, `${name}.log`),
  };
}

export async function writeFaults(folder: DemoFolder, script: FaultScript): Promise<void> {
  await writeFile(folder.faults, `${JSON.stringify(script, null, 2)}\n`);
}

export async function writeTemporalConfig(
  folder: DemoFolder,
  address: string,
  namespace: string,
): Promise<void> {
  const profile = `[profile.default]\naddress = "${address}"\nnamespace = "${namespace}"\n`;
  await writeFile(folder.temporalConfig, profile);
}

export async function writeLanes(folder: DemoFolder, baseUrl: string): Promise<void> {
  await writeFile(folder.lanes, `# Written for this run of the demo.\n${lanesYaml(baseUrl)}`);
}

/** One lane with the upstream's quota. Its waits are short, so that a person can watch it to the end. */
export function lanesYaml(baseUrl: string): string {
  return stringify({
    lanes: {
      [LANE]: {
        owner: 'whoever watches the demo',
        upstream: {
          baseUrl,
          operations: { release: { method: 'POST', path: '/packages/{payload.package}/releases' } },
          timeout: `${TIMEOUT_MS}ms`,
          idempotency: { header: 'Idempotency-Key', window: '24h' },
        },
        limit: { requests: QUOTA.requests, per: `${QUOTA.perMs}ms` },
        retry: { budget: 5, initial: '200ms', max: '2s' },
        deadline: '1h',
        // The shortest that fits: twice the timeout and a second.
        lease: `${2 * TIMEOUT_MS + 1_000}ms`,
      },
    },
  });
}
