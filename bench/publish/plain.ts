import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import pMap from 'p-map';
import type { trivial } from './trivial-workflow.ts';
import type { Stand } from './stand.ts';

const TASK_QUEUE = 'bench-plain';
const AT_ONCE = 20;

/** How many trivial workflows Temporal's own client starts per second, while a worker of theirs runs them. */
export async function plainPerSecond({ address, client }: Stand, workflows: number): Promise<number> {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger });
  const connection = await NativeConnection.connect({ address });
  const workflowsPath = fileURLToPath(new URL('./trivial-workflow.ts', import.meta.url));
  const worker = await Worker.create({
    connection,
    taskQueue: TASK_QUEUE,
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger }),
  });
  try {
    return await worker.runUntil(async () => {
      await start(client, 'warm-up', AT_ONCE * 5);
      const begunAtMs = performance.now();
      await start(client, 'plain', workflows);
      return (workflows * 1_000) / (performance.now() - begunAtMs);
    });
  } finally {
    await connection.close();
  }
}

async function start(client: Client, name: string, workflows: number): Promise<void> {
  await pMap(
    Array.from({ length: workflows }, (_, n) => `${name}:${n}`),
    (workflowId) =>
      client.workflow.start<typeof trivial>('trivial', { workflowId, taskQueue: TASK_QUEUE, args: [] }),
    { concurrency: AT_ONCE },
  );
}
