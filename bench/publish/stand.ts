import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { endsCallsWhenClosed } from '../../src/closed-calls.ts';
import { operateLane } from '../../src/client.ts';
import { laneWorkflowId } from '../../src/domain/ids.ts';
import { describeOrUndefined } from '../../src/client/key-holder.ts';
import { startDevServer } from '../../src/dev/temporal/dev-server.ts';
import { SHORT, LANE, lanesYaml } from '../fleet/lanes-file.ts';
import { Replica } from '../fleet/replica.ts';
import { until } from '../fleet/until.ts';

const LANE_OPEN_WITHIN_MS = 60_000;
/** Nobody listens there: the lane is paused all the time. */
const NOWHERE = 'http://127.0.0.1:9';

/** What everything is measured on: one dev server, one worker process, and a lane that is paused. */
export interface Stand {
  readonly address: string;
  readonly client: Client;
  readonly folder: string;
}

/** Nothing of it is left afterwards. */
export async function onStand<T>(folder: string, use: (stand: Stand) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true });
  const lanesFile = join(folder, 'lanes.yaml');
  await writeFile(lanesFile, lanesYaml(NOWHERE, { requests: 10, perMs: 1_000 }, SHORT, false));
  const server = await startDevServer();
  const stops = [() => server.stop()];
  try {
    const { address } = server;
    const connection = await Connection.connect({ address, plugins: [endsCallsWhenClosed] });
    stops.push(() => connection.close());
    const client = new Client({ connection });
    const worker = await Replica.start({
      name: 'worker',
      folder,
      lanesFile,
      temporalAddress: address,
      linked: false,
      roles: ['dispatch', 'lanes'],
    });
    stops.push(() => worker.destroy());
    await until('the lane is open', LANE_OPEN_WITHIN_MS, async () =>
      Boolean(await describeOrUndefined(client, laneWorkflowId(LANE))),
    );
    await operateLane.pause(client, LANE, { by: 'the bench', reason: 'only publishing is measured' });
    return await use({ address, client, folder });
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}
