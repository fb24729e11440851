import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { Connection, Client, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { endsCallsWhenClosed } from '../src/closed-calls.ts';
import { startDevServer } from '../src/dev/temporal/dev-server.ts';
import { Proxy } from './system/support/proxy.ts';

test('a connection that is closed while a call waits to be tried again ends the call, and not the process', async () => {
  const server = await startDevServer();
  const proxy = await Proxy.start(server.address);
  try {
    const waits = new EventEmitter();
    const retry = makeGrpcRetryInterceptor({
      ...defaultGrpcRetryOptions(),
      delayFunction: () => {
        waits.emit('again');
        return 100;
      },
    });
    const connection = await Connection.connect({
      address: proxy.address,
      interceptors: [retry],
      plugins: [endsCallsWhenClosed],
    });
    const client = new Client({ connection });
    await client.workflow.count();
    await proxy.close();
    const waiting = once(waits, 'again');
    const asked = assert.rejects(client.workflow.count(), ({ cause }: Error) =>
      /shut down/.test(String(cause)),
    );
    await waiting;
    await connection.close();
    await asked;
    await assert.rejects(client.workflow.count(), 'also a call that begins only now');
  } finally {
    await proxy.close();
    await server.stop();
  }
});
