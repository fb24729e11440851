import { after, before } from 'node:test';
import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { endsCallsWhenClosed } from '../../../src/closed-calls.ts';
import { type DevServer, startDevServer } from '../../../src/dev/temporal/dev-server.ts';
import { ensureSearchAttributes } from '../../../src/search-attributes.ts';
import { until } from './until.ts';

/** The Temporal of a test file. */
export interface Temporal {
  /** host:port */
  readonly address: string;
  readonly namespace: string;
  readonly client: Client;
}

/** Gives a test file a dev server of its own, in memory, for as long as its tests run. */
export function useTemporal(): Temporal {
  let server: DevServer | undefined;
  let client: Client | undefined;
  before(async () => {
    server = await startDevServer();
    client = await connectTo(server.address);
  });
  after(async () => {
    await client?.connection.close();
    await server?.stop();
  });
  return {
    get address() {
      return started(server).address;
    },
    namespace: 'default',
    get client() {
      return started(client);
    },
  };
}

/** A namespace of its own on the same server: what is side by side with others there has none of their workers. */
export async function ownNamespace(temporal: Temporal, namespace: string): Promise<Temporal> {
  const own = await bareNamespace(temporal, namespace);
  const connection = await Connection.connect({ address: own.address, plugins: [endsCallsWhenClosed] });
  try {
    await ensureSearchAttributes(connection, namespace);
  } finally {
    await connection.close();
  }
  return own;
}

/** A namespace as whoever runs a server makes it: without what onelane needs of it, and with a retention of a day. */
export async function bareNamespace({ address }: Temporal, namespace: string): Promise<Temporal> {
  const connection = await Connection.connect({ address, plugins: [endsCallsWhenClosed] });
  after(() => connection.close());
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  const own = new Client({ connection, namespace });
  await until('the new namespace is known', () =>
    own.workflow.count().then(
      () => true,
      () => false,
    ),
  );
  return { address, namespace, client: own };
}

/** Whoever connects closes the connection. */
export async function connectTo(address: string): Promise<Client> {
  return new Client({ connection: await Connection.connect({ address, plugins: [endsCallsWhenClosed] }) });
}

function started<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('Temporal is there only while tests run');
  return value;
}
