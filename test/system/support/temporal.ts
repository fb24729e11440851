import { after, before } from 'node:test';
import { Client, Connection } from '@temporalio/client';
import { type DevServer, startDevServer } from '../../../src/dev/temporal/dev-server.ts';

/** The Temporal of a test file. */
export interface Temporal {
  /** host:port */
  readonly address: string;
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
    get client() {
      return started(client);
    },
  };
}

/** Whoever connects closes the connection. */
export async function connectTo(address: string): Promise<Client> {
  return new Client({ connection: await Connection.connect({ address }) });
}

function started<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('Temporal is there only while tests run');
  return value;
}
