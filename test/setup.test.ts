import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { endsCallsWhenClosed } from '../src/closed-calls.ts';
import { type DevServer, startDevServer } from '../src/dev/temporal/dev-server.ts';
import { SEARCH_ATTRIBUTE_NAMES } from '../src/domain/ids.ts';
import { MissingNamespaceError, NamespaceNotReadyError, namespaceWarnings } from '../src/namespace.ts';
import { setUp } from '../src/setup.ts';

const DAY_MS = 24 * 3_600_000;

let server: DevServer;
let connection: Connection;
before(async () => {
  server = await startDevServer();
  connection = await Connection.connect({ address: server.address, plugins: [endsCallsWhenClosed] });
});
after(async () => {
  await connection.close();
  await server.stop();
});

const clientOf = (namespace: string) => new Client({ connection, namespace });

test('a namespace that is not there is made only when that is asked for', async () => {
  const client = clientOf('made');
  await assert.rejects(setUp(client, { create: false, retentionMs: null }), MissingNamespaceError);
  await assert.rejects(namespaceWarnings(connection, 'made', []), /onelane setup --create/);
  assert.deepEqual(await setUp(client, { create: true, retentionMs: null }), {
    namespace: 'made',
    created: true,
    registered: SEARCH_ATTRIBUTE_NAMES,
    retentionMs: 30 * DAY_MS,
    retentionWasMs: null,
  });
  assert.deepEqual(await namespaceWarnings(connection, 'made', []), []);
});

test('a worker on a namespace without search attributes says so and names the command that registers them', async () => {
  await connection.workflowService.registerNamespace({
    namespace: 'bare',
    workflowExecutionRetentionPeriod: msToTs(DAY_MS),
  });
  const client = clientOf('bare');
  await assert.rejects(namespaceWarnings(connection, 'bare', []), (error) => {
    assert.ok(error instanceof NamespaceNotReadyError);
    assert.match(error.message, /OnelaneLane.*\n {2}onelane setup\n/);
    return true;
  });
  const report = await setUp(client, { create: false, retentionMs: null });
  assert.deepEqual([report.created, report.registered], [false, SEARCH_ATTRIBUTE_NAMES]);
  assert.equal(report.retentionMs, DAY_MS, 'retention is left alone unless it is asked for');
});

test('setting up again changes nothing, and the retention is what was asked for', async () => {
  const client = clientOf('default');
  const nothing = await setUp(client, { create: true, retentionMs: null });
  assert.deepEqual([nothing.created, nothing.registered, nothing.retentionWasMs], [false, [], null]);
  const shorter = await setUp(client, { create: false, retentionMs: 10 * DAY_MS });
  assert.deepEqual([shorter.retentionMs, shorter.retentionWasMs], [10 * DAY_MS, nothing.retentionMs]);
});
