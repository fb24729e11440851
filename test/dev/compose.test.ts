import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import getPort from 'get-port';
import type { Command } from 'commander';
import { parse } from 'yaml';
import { z } from 'zod';
import { upstreamCommand } from '../../src/cli/upstream.ts';
import { workerCommand } from '../../src/cli/worker.ts';
import { loadConfig } from '../../src/config.ts';
import { TEMPORAL_CLI } from '../../src/dev/temporal/binary.ts';
import { partitionFlags, RETENTION_MS } from '../../src/dev/temporal/dev-server.ts';
import { answers } from '../../src/dev/temporal/dev-file.ts';
import { findTemporalCli } from '../../src/dev/temporal/find.ts';
import { run } from '../../src/dev/temporal/run.ts';
import { spawnSupervised } from '../../src/dev/temporal/supervisor.ts';
import { SEARCH_ATTRIBUTES } from '../../src/domain/ids.ts';
import { until } from '../support/wait.ts';

const ROOT = new URL('../../', import.meta.url);

const serviceSchema = z.object({
  image: z.string(),
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
});
const composeSchema = z.object({
  services: z.object({
    temporal: serviceSchema,
    retention: serviceSchema,
    upstream: serviceSchema,
    worker: serviceSchema,
  }),
  volumes: z.record(z.string(), z.null()),
});
type Services = z.infer<typeof composeSchema>['services'];

describe('docker-compose.yml', () => {
  let services: Services;
  before(async () => {
    services = composeSchema.parse(
      parse(await readFile(new URL('docker-compose.yml', ROOT), 'utf8')),
    ).services;
  });

  it('runs the pinned Temporal, with the partitions, search attributes and retention of startDevServer', () => {
    const { temporal, retention } = services;
    assert.equal(temporal.image, `temporalio/temporal:${TEMPORAL_CLI.pinned}`);
    assert.equal(retention.image, temporal.image);
    for (const flag of partitionFlags(1).filter((part) => !part.startsWith('--')))
      assert.ok(temporal.command.includes(`--dynamic-config-value=${flag}`), flag);
    assert.deepEqual(
      temporal.command.filter((part) => part.startsWith('--search-attribute')),
      Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => `--search-attribute=${name}=${type}`),
    );
    assert.ok(retention.command.includes(`--retention=${RETENTION_MS / 86_400_000}d`));
  });

  it('the real CLI takes the command lines of Temporal and of the retention', async () => {
    const { path } = await findTemporalCli();
    const folder = await mkdtemp(join(tmpdir(), 'onelane-compose-'));
    const port = await getPort({ host: '127.0.0.1', reserve: true });
    const uiPort = await getPort({ host: '127.0.0.1', reserve: true });
    // Only what belongs to the container changes: its ports, its folder, its host name.
    const here = (part: string) =>
      part
        .replace('--ip=0.0.0.0', '--ip=127.0.0.1')
        .replace('--ui-port=8233', `--ui-port=${uiPort}`)
        .replace('--port=7233', `--port=${port}`)
        .replace('temporal:7233', `127.0.0.1:${port}`)
        .replace('/data/', `${folder}/`);
    const server = spawnSupervised([path, ...services.temporal.command.map(here)]);
    try {
      await until('the server answers', () => answers(`127.0.0.1:${port}`));
      const options = { timeoutMs: 20_000, env: process.env };
      await run(path, services.retention.command.map(here), options);
      const namespace = await run(
        path,
        ['operator', 'namespace', 'describe', '-n', 'default', '--address', `127.0.0.1:${port}`],
        options,
      );
      assert.match(namespace, /720h/, 'thirty days');
    } finally {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('the worker reaches Temporal and the upstream where they listen', () => {
    const { temporal, upstream, worker } = services;
    assert.equal(worker.environment['TEMPORAL_ADDRESS'], `temporal:${valueOf(temporal.command, '--port')}`);
    assert.equal(
      worker.environment['UPSTREAM_URL'],
      `http://upstream:${valueOf(upstream.command, '--port')}`,
    );
    const published = [...temporal.ports, ...upstream.ports];
    for (const port of [
      valueOf(temporal.command, '--port'),
      valueOf(temporal.command, '--ui-port'),
      valueOf(upstream.command, '--port'),
    ])
      assert.ok(published.includes(`127.0.0.1:${port}:${port}`), `port ${port}, for this machine only`);
  });

  it('the worker waits for what it needs', () => {
    assert.deepEqual(services.worker.depends_on, {
      retention: { condition: 'service_completed_successfully' },
      upstream: { condition: 'service_healthy' },
    });
    assert.deepEqual(services.retention.depends_on, { temporal: { condition: 'service_healthy' } });
  });

  it('upstream and worker are commands of onelane, with options that they have', () => {
    assertOptions(services.upstream.command, upstreamCommand());
    assertOptions(services.worker.command, workerCommand());
  });

  it('the mounted lanes are a file that can be loaded with the environment of the worker', () => {
    const { worker } = services;
    const [source, target] = worker.volumes[0]?.split(':') ?? [];
    assert.equal(valueOf(worker.command, '--config'), target);
    const file = fileURLToPath(new URL(source ?? '', ROOT));
    assert.ok(loadConfig(file, worker.environment).lanes.size > 0);
  });
});

function valueOf(command: readonly string[], option: string): string {
  const part = command.find((candidate) => candidate.startsWith(`${option}=`));
  assert.ok(part !== undefined, `${option} in ${command.join(' ')}`);
  return part.slice(option.length + 1);
}

function assertOptions([name, ...parts]: readonly string[], command: Command): void {
  assert.equal(name, command.name());
  const known = command.options.map(({ long }) => long);
  for (const part of parts) assert.ok(known.includes(part.split('=', 1)[0]), `${name} ${part}`);
}
