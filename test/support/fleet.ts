import { openLane } from '../../src/client/open-lane.ts';
import { laneWorkflowId, parseLaneName } from '../../src/domain/ids.ts';
import type { HoldReport, LaneRecord } from '../../src/domain/lane-record.ts';
import { PaceWindowSchema } from '../../src/domain/pace-window.ts';
import * as messages from '../../src/workflows/lane-messages.ts';
import { FakeProcess, type FakeProcessParts, REPORT } from './fake-process.ts';
import type { Stage } from './stage.ts';

export const WINDOW = PaceWindowSchema.parse({
  ages: [
    [700, 2],
    [30, 1],
  ],
  requests: 10,
  perMs: 1_000,
  burst: 1,
  timeoutMs: 200,
});
/** of a holder that sent three calls */
export const SENT: HoldReport = {
  ...REPORT,
  window: WINDOW,
  tallies: { ...REPORT.tallies, succeeded: 3, throttled: 1 },
};

export interface Fleet {
  readonly name: string;
  /** a process that stands by for the lane */
  readonly standBy: (
    process: string,
    claim?: FakeProcessParts['claim'],
    orders?: boolean,
  ) => Promise<FakeProcess>;
  readonly record: () => Promise<LaneRecord>;
  readonly signalClosed: (closed: Partial<messages.Closed>) => Promise<void>;
}

/** Opens a lane of the test's own, or one of a partition (`lane/partition`), and stops all processes that stood by for it. */
export async function withFleet(
  stage: Stage,
  name: string,
  test: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  const { lane } = parseLaneName(name);
  const processes: FakeProcess[] = [];
  const handle = stage.client.workflow.getHandle(laneWorkflowId(name));
  await openLane(stage.client, name);
  try {
    await test({
      name,
      standBy: async (process, claim = {}, orders = true) => {
        const connection = await stage.connect();
        const fake = new FakeProcess({
          client: stage.client,
          connection,
          process: `${lane}-${process}`,
          lane,
          claim,
        });
        processes.push(fake);
        return await fake.start({ orders });
      },
      record: () => handle.query(messages.lane),
      signalClosed: (closed) =>
        handle.signal(messages.closed, {
          epoch: 1,
          forMs: 60_000,
          because: '429',
          probing: true,
          backoffMs: 0,
          ...closed,
        }),
    });
  } finally {
    await handle.terminate('the test is over').catch(() => undefined);
    for (const fake of processes) await fake.stop();
  }
}
