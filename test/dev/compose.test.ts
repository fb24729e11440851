import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { parse } from 'yaml';
import { z } from 'zod';
import { KEYS_FILE } from '../../src/api/keys-file.ts';
import { apiCommand } from '../../src/cli/api.ts';
import { setupCommand } from '../../src/cli/setup.ts';
import { upstreamCommand } from '../../src/cli/upstream.ts';
import { workerCommand } from '../../src/cli/worker.ts';
import { loadConfig } from '../../src/config.ts';
import { partitionFlags, RETENTION_MS } from '../../src/dev/temporal/dev-server.ts';

const ROOT = new URL('../../', import.meta.url);

const serviceSchema = z.object({
  image: z.string(),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  deploy: z.object({ replicas: z.int() }).optional(),
});
const composeSchema = z.object({
  services: z.object({
    postgresql: serviceSchema,
    schema: serviceSchema,
    temporal: serviceSchema,
    'temporal-ui': serviceSchema,
    setup: serviceSchema,
    upstream: serviceSchema,
    worker: serviceSchema,
    api: serviceSchema,
  }),
  volumes: z.record(z.string(), z.null()),
});
type Services = z.infer<typeof composeSchema>['services'];

describe('docker-compose.yml', () => {
  let services: Services;
  before(async () => {
    services = composeSchema.parse(parse(await readText('docker-compose.yml'))).services;
  });

  it('pins the image of everything that is not ours, and server and schema tool are of one version', () => {
    for (const { image } of Object.values(services))
      assert.match(image, /^(onelane|[a-z]+(\/[a-z-]+)?:\d+(\.\d+)*)$/);
    const [schema, temporal] = [services.schema, services.temporal].map(({ image }) => image.split(':')[1]);
    assert.equal(schema, temporal);
  });

  it('stores what Temporal keeps in the database whose schema it sets up, under one password', () => {
    const { postgresql, schema, temporal } = services;
    assert.equal(temporal.environment['DB'], schema.environment['SQL_PLUGIN']);
    assert.equal(temporal.environment['POSTGRES_SEEDS'], 'postgresql');
    assert.equal(schema.environment['SQL_HOST'], 'postgresql');
    for (const [one, other] of [
      [postgresql.environment['POSTGRES_USER'], 'temporal'],
      [temporal.environment['POSTGRES_USER'], schema.environment['SQL_USER']],
      [temporal.environment['POSTGRES_PWD'], postgresql.environment['POSTGRES_PASSWORD']],
      [schema.environment['SQL_PASSWORD'], postgresql.environment['POSTGRES_PASSWORD']],
    ])
      assert.equal(one, other);
    assert.deepEqual(postgresql.ports, [], 'the database is nobody else’s');
  });

  it('has the partitions and the retention of onelane dev', async () => {
    const { temporal, setup } = services;
    const [source = '', target] = temporal.volumes[0]?.split(':') ?? [];
    assert.equal(temporal.environment['DYNAMIC_CONFIG_FILE_PATH'], target);
    const settings: unknown = parse(await readText(source));
    const wanted = partitionFlags(1).filter((part) => !part.startsWith('--'));
    assert.deepEqual(
      settings,
      Object.fromEntries(
        wanted.map((flag) => {
          const [name = '', value] = flag.split('=');
          return [name, [{ value: Number(value) }]];
        }),
      ),
    );
    assert.equal(valueOf(setup.command, '--retention'), `${RETENTION_MS / 86_400_000}d`);
  });

  it('every service finds the others where they listen, and the host only what is meant for it', () => {
    const { temporal, upstream, worker, setup, api } = services;
    for (const ours of [worker, setup, api])
      assert.equal(ours.environment['TEMPORAL_ADDRESS'], 'temporal:7233');
    assert.equal(services['temporal-ui'].environment['TEMPORAL_ADDRESS'], 'temporal:7233');
    assert.equal(
      worker.environment['UPSTREAM_URL'],
      `http://upstream:${valueOf(upstream.command, '--port')}`,
    );
    for (const service of Object.values(services))
      for (const port of service.ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/, 'for this machine only');
    assert.ok(temporal.ports[0]?.endsWith(':7233'));
    assert.ok(upstream.ports[0]?.endsWith(`:${valueOf(upstream.command, '--port')}`));
    assert.ok(api.ports[0]?.endsWith(`:${valueOf(api.command, '--port')}`));
  });

  it('each service waits for what it needs, and what is waited for can say that it is there', () => {
    const { schema, temporal, setup, worker, api } = services;
    const HEALTHY = { condition: 'service_healthy' };
    const DONE = { condition: 'service_completed_successfully' };
    assert.deepEqual(schema.depends_on, { postgresql: HEALTHY });
    assert.deepEqual(temporal.depends_on, { schema: DONE });
    assert.deepEqual(setup.depends_on, { temporal: HEALTHY });
    assert.deepEqual(worker.depends_on, { setup: DONE, upstream: HEALTHY });
    assert.deepEqual(api.depends_on, { setup: DONE });
    const byName = new Map(Object.entries(services));
    for (const { depends_on: needs } of byName.values())
      for (const [name, { condition }] of Object.entries(needs))
        if (condition === HEALTHY.condition) assert.ok(byName.get(name)?.healthcheck, `${name} has no check`);
  });

  it('setup, upstream, api and three workers are commands of onelane, with options that they have', () => {
    const { setup, upstream, worker, api } = services;
    assertOptions(api.command, apiCommand());
    assertOptions(setup.command, setupCommand());
    assertOptions(upstream.command, upstreamCommand());
    assertOptions(worker.command, workerCommand());
    assert.equal(worker.deploy?.replicas, 3);
  });

  it('the api reads the keys where onelane keys writes them on the host', () => {
    const [source, target = ''] = services.api.volumes[0]?.split(':') ?? [];
    assert.equal(source, `./${dirname(KEYS_FILE)}`);
    assert.equal(valueOf(services.api.command, '--keys'), `${target}/${basename(KEYS_FILE)}`);
  });

  it('the mounted lanes are a file that can be loaded with the environment of the worker', () => {
    const { worker } = services;
    const [source, target] = worker.volumes[0]?.split(':') ?? [];
    assert.equal(valueOf(worker.command, '--config'), target);
    const file = fileURLToPath(new URL(source ?? '', ROOT));
    assert.ok(loadConfig(file, worker.environment).lanes.size > 0);
  });
});

describe('Dockerfile', () => {
  it('builds in one stage, runs in another without what only building needs, and not as root', async () => {
    const lines = (await readText('Dockerfile')).split('\n');
    const stages = lines.filter((line) => line.startsWith('FROM '));
    assert.equal(stages.length, 2);
    const last = lines.slice(lines.indexOf(stages[1] ?? ''));
    assert.ok(last.includes('USER node'));
    assert.ok(last.every((line) => !line.startsWith('RUN npm')));
    assert.ok(lines.some((line) => line.includes('npm prune --omit=dev')));
  });

  it('copies only what is there, and what .dockerignore lets through', async () => {
    const ignored = (await readText('.dockerignore')).split('\n');
    const copied = (await readText('Dockerfile'))
      .split('\n')
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from'))
      .flatMap((line) => line.split(' ').slice(1, -1));
    assert.ok(copied.length > 0);
    for (const name of copied) {
      await stat(new URL(name, ROOT));
      assert.ok(ignored.includes(`!${name}`), `${name} in .dockerignore`);
    }
  });
});

async function readText(name: string): Promise<string> {
  return await readFile(new URL(name, ROOT), 'utf8');
}

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
