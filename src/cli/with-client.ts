import type { Client } from '@temporalio/client';
import { connectClient } from '../connection.ts';

/** Connects, asks, and closes the connection whatever comes. */
export async function withClient<T>(ask: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectClient();
  try {
    return await ask(client);
  } finally {
    await client.connection.close();
  }
}
