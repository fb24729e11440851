import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, Connection } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import { endsCallsWhenClosed } from '../../src/closed-calls.ts';
import { answers } from '../../src/dev/temporal/dev-file.ts';
import {
  type DevServer,
  DevServerError,
  RETENTION_MS,
  startDevServer,
} from '../../src/dev/temporal/dev-server.ts';
import { startTimeSkipping } from '../../src/dev/temporal/time-skipping.ts';
import { SEARCH_ATTRIBUTE_NAMES } from '../../src/domain/ids.ts';
import {
  ONELANE_BATCH,
  ONELANE_LANE,
  ONELANE_PARKED_AT,
  ONELANE_STATE,
} from '../../src/workflows/visibility.ts';
import { ensureSearchAttributes, missingSearchAttributes } from '../../src/search-attributes.ts';
import { until } from '../support/wait.ts';

describe('a dev server without options', () => {
  let server: DevServer;
  let connection: Connection;

  before(async () => {
    server = await startDevServer({});
    connection = await Connection.connect({ address: server.address, plugins: [endsCallsWhenClosed] });
  });
  after(async () => {
    await connection?.close();
    await server?.stop();
  });

  it('is private: two at once have addresses of their own, and no Web UI', async () => {
    const other = await startDevServer({});
    try {
      assert.notEqual(other.address, server.address);
      assert.equal(other.ui, null);
    } finally {
      await other.stop();
    }
    assert.equal(await answers(other.address), false);
    assert.equal(await answers(server.address), true, 'stopping one does not touch the other');
  });

  it('keeps closed workflows for 30 days', async () => {
    const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
    assert.equal(Number(config?.workflowExecutionRetentionTtl?.seconds) * 1000, RETENTION_MS);
  });

  it('has one partition per task queue', async () => {
    const { activityTaskQueuePartitions } = await connection.workflowService.listTaskQueuePartitions({
      namespace: 'default',
      taskQueue: { name: 'any' },
    });
    assert.equal(activityTaskQueuePartitions?.length, 1);
  });

  it('has our search attributes, and registering them again changes nothing', async () => {
    assert.deepEqual(await missingSearchAttributes(connection, 'default'), []);
    await ensureSearchAttributes(connection, 'default');
  });

  it('missing search attributes are named, until they are registered', async () => {
    const namespace = 'elsewhere';
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    await until('the new namespace is known', () =>
      missingSearchAttributes(connection, namespace).then(
        (missing) => missing.length === SEARCH_ATTRIBUTE_NAMES.length,
        () => false,
      ),
    );
    await ensureSearchAttributes(connection, namespace);
    assert.deepEqual(await missingSearchAttributes(connection, namespace), []);
  });
});

describe('a dev server with a file', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'onelane-dev-server-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('has after a restart what it had before, and writes its log where it is told', async () => {
    const options = {
      dbFile: join(folder, 'temporal.db'),
      logFile: join(folder, 'temporal.log'),
      namespace: 'kept',
    };
    await withServer(options, (client) =>
      client.workflow.start('any', { workflowId: 'one', taskQueue: 'any' }),
    );
    const type = await withServer(
      options,
      async (client) => (await client.workflow.getHandle('one').describe()).type,
    );
    assert.equal(type, 'any');
    assert.match(await readFile(options.logFile, 'utf8'), /Temporal/);
  });
});

it('a port in use is an error with what the server itself said', async () => {
  const occupant = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(occupant, 'listening');
  const address = occupant.address();
  assert.ok(address !== null && typeof address === 'object');
  try {
    await assert.rejects(startDevServer({ port: address.port }), (error) => {
      assert.ok(error instanceof DevServerError);
      assert.match(error.message, /died \(exit code 1\): .*address already in use/);
      return true;
    });
  } finally {
    occupant.close();
  }
});

it('a server whose owner is killed with SIGKILL ends, too', async () => {
  const program = `
    import { startDevServer } from ${JSON.stringify(import.meta.resolve('../../src/dev/temporal/dev-server.ts'))};
    console.log((await startDevServer({})).address);`;
  const owner = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', program],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  owner.stdout.setEncoding('utf8');
  const [line]: unknown[] = await once(owner.stdout, 'data');
  const address = String(line).trim();
  assert.equal(await answers(address), true);
  owner.kill('SIGKILL');
  await until('the server has ended', async () => !(await answers(address)));
});

it('the time-skipping server takes workflows with our search attributes', async () => {
  const environment = await startTimeSkipping();
  try {
    const client = new Client({ connection: environment.connection });
    const typedSearchAttributes = new TypedSearchAttributes([
      { key: ONELANE_LANE, value: 'any' },
      { key: ONELANE_BATCH, value: 'any' },
      { key: ONELANE_STATE, value: 'dead' },
      { key: ONELANE_PARKED_AT, value: new Date() },
    ]);
    const handle = await client.workflow.start('any', {
      workflowId: 'one',
      taskQueue: 'any',
      typedSearchAttributes,
    });
    assert.equal((await handle.describe()).type, 'any');
    assert.deepEqual(await missingSearchAttributes(environment.connection, 'default'), []);
  } finally {
    await environment.teardown();
  }
});

async function withServer<T>(
  options: { namespace: string },
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const server = await startDevServer(options);
  const connection = await Connection.connect({ address: server.address, plugins: [endsCallsWhenClosed] });
  try {
    return await use(new Client({ connection, namespace: options.namespace }));
  } finally {
    await connection.close();
    await server.stop();
  }
}
