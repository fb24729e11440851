import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type DevServer, startDevServer } from '../../src/dev/temporal/dev-server.ts';
import { NotFoundError, UnansweredError, connect } from '../../src/library/index.ts';
import { type FunctionLane, refused, startWorker, succeeded } from '../../src/library/worker.ts';

let server: DevServer;
before(async () => {
  server = await startDevServer();
});
after(() => server.stop());

const lane: FunctionLane = {
  owner: 'tests',
  upstream: {
    operations: {
      release: ({ key }) =>
        Promise.resolve(key.endsWith('bad') ? refused('bad') : succeeded({ id: `id-of-${key}` })),
    },
    timeout: '1s',
    idempotency: 'none',
  },
  limit: { requests: 50, per: '1s' },
  lease: '4s',
  retry: { budget: 3 },
  deadline: 'none',
};

test('a worker in a process of its own kind holds a lane whose upstream is a function, and gives it back', async () => {
  const said: string[] = [];
  const { address } = server;
  const options = { address, lanes: { releases: lane }, say: (line: string) => void said.push(line) };
  const worker = await startWorker(options);
  const onelane = await connect({ address });
  try {
    const batchId = 'in-process';
    await onelane.publish({
      batchId,
      lane: 'releases',
      items: ['a', 'b', 'bad'].map((key) => ({ key: `in-process:${key}`, payload: { key } })),
    });
    const { counts } = await onelane.wait(batchId, { withinMs: 60_000 });
    assert.deepEqual([counts.succeeded, counts.parked], [2, 1]);
    const { receipt } = await onelane.item('in-process:a');
    assert.equal(receipt?.upstreamId, 'id-of-in-process:a');

    const paused = await onelane.operate.lane.pause('releases', { by: 'tests', reason: 'to see it wait' });
    assert.equal(paused.paused?.reason, 'to see it wait');
    await onelane.publish({ batchId: 'paused', lane: 'releases', items: [{ key: 'paused:a', payload: {} }] });
    await assert.rejects(onelane.wait('paused', { withinMs: 300 }), UnansweredError);
    await assert.rejects(onelane.wait('nobody'), NotFoundError);
    const giveUp = AbortSignal.timeout(200);
    await assert.rejects(onelane.waitForItem('paused:a', { signal: giveUp }), { name: 'AbortError' });
  } finally {
    await onelane.close();
    await worker.stop();
  }
  assert.ok(said.some((line) => line.includes('lane releases was given back')));
});
