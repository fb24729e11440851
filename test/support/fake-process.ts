import { CompleteAsyncError, Context } from '@temporalio/activity';
import { ActivityCancelledError, ActivityNotFoundError, type Client } from '@temporalio/client';
import { type NativeConnection, Worker } from '@temporalio/worker';
import type {
  HoldOrder,
  LaneChange,
  ProcessActivities,
  StandbyActivities,
} from '../../src/activities/contract.ts';
import { processTaskQueue, standbyTaskQueue } from '../../src/domain/ids.ts';
import type { Claimant, HoldReport } from '../../src/domain/lane-record.ts';
import { eventually } from './wait.ts';

/** As often as a real holder's, for the short leases that tests have. */
const BEAT_EVERY_MS = 100;

export const REPORT: HoldReport = {
  window: { ages: [], requests: 10, perMs: 1_000, burst: 1, timeoutMs: 200 },
  tallies: { succeeded: 0, throttled: 0, unavailable: 0, ambiguous: 0, refused: 0, laneFault: 0 },
  closedForMs: 0,
  closedBecause: '',
  probing: false,
  backoffMs: 0,
  inFlight: 0,
};

export interface FakeProcessParts {
  readonly client: Client;
  readonly connection: NativeConnection;
  readonly process: string;
  /** of whose lanes it stands by, partitions included */
  readonly lane: string;
  readonly claim?: Partial<Claimant>;
}

/** A process that stands by for a lane and holds it exactly as a test tells it to. It calls no upstream. */
export class FakeProcess {
  readonly #parts: FakeProcessParts;
  readonly #running: { worker: Worker; run: Promise<void> }[] = [];
  readonly holds: FakeHold[] = [];
  /** in the order in which they came, also those that it did not answer */
  readonly changes: LaneChange[] = [];
  /** what it does with a lane that it is given; nothing, unless a test says so */
  onHold: (hold: FakeHold) => Promise<void> = () => Promise.resolve();
  /** what it does with a change of its lane */
  onChange: (change: LaneChange) => Promise<void> = () => Promise.resolve();

  constructor(parts: FakeProcessParts) {
    this.#parts = parts;
  }

  /** Stands by. With `orders: false` it answers claims, but nobody is there to take up a lane. */
  async start({ orders = true } = {}): Promise<this> {
    const standby: StandbyActivities = { claimLane: () => this.#claim() };
    await this.#run(standbyTaskQueue(this.#parts.lane), { ...standby });
    if (!orders) return this;
    const held: ProcessActivities = {
      holdLane: (order) => this.#hold(order),
      changeLane: async (change) => {
        this.changes.push(change);
        await this.onChange(change);
      },
    };
    await this.#run(processTaskQueue(this.#parts.process), { ...held });
    return this;
  }

  async #run(taskQueue: string, activities: object): Promise<void> {
    const { connection } = this.#parts;
    const worker = await Worker.create({
      connection,
      taskQueue,
      activities,
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
    });
    this.#running.push({ worker, run: worker.run() });
  }

  /** Claims no lane any more, as a process that stops. */
  async standDown(): Promise<void> {
    const [standby] = this.#running;
    standby?.worker.shutdown();
    await standby?.run;
  }

  #claim(): Promise<Claimant> {
    return Promise.resolve({
      process: this.#parts.process,
      host: 'a-host',
      fingerprint: 'f1',
      leaseMs: 1_500,
      limit: { requests: 10, perMs: 1_000 },
      maxInFlight: 1,
      idleAfterMs: 60_000,
      ...this.#parts.claim,
    });
  }

  async #hold(order: HoldOrder): Promise<never> {
    const hold = new FakeHold(this.#parts.client, order, Context.current().info.taskToken);
    this.holds.push(hold);
    void this.onHold(hold);
    throw new CompleteAsyncError();
  }

  /** The hold with this epoch, as soon as it was ordered. */
  async holdOf(epoch: number): Promise<FakeHold> {
    return await eventually(`${this.#parts.process} holds epoch ${epoch}`, () =>
      Promise.resolve(this.holds.find(({ order }) => order.epoch === epoch)),
    );
  }

  async stop(): Promise<void> {
    for (const hold of this.holds) hold.die();
    for (const { worker } of this.#running) if (worker.getState() === 'RUNNING') worker.shutdown();
    await Promise.all(this.#running.map(({ run }) => run));
  }
}

export class FakeHold {
  readonly order: HoldOrder;
  readonly #client: Client;
  readonly #taskToken: Uint8Array;
  #beating: NodeJS.Timeout | undefined;

  constructor(client: Client, order: HoldOrder, taskToken: Uint8Array) {
    this.#client = client;
    this.order = order;
    this.#taskToken = taskToken;
  }

  /** Beats with this from now on; resolves when the server has heard the first. */
  async keep(report: unknown = REPORT): Promise<this> {
    this.die();
    await this.#client.activity.heartbeat(this.#taskToken, report);
    this.#beating = setInterval(() => {
      // Cancelled, or no longer known: what follows is what the test is about.
      this.#client.activity.heartbeat(this.#taskToken, report).catch(() => this.die());
    }, BEAT_EVERY_MS);
    return this;
  }

  /** No beat any more. */
  die(): void {
    clearInterval(this.#beating);
  }

  async giveBack(report: HoldReport = REPORT): Promise<void> {
    this.die();
    await this.#client.activity.complete(this.#taskToken, report);
  }

  /** Beats until the workflow asks for the lane. False when the workflow is gone. */
  async wantedBack(report: HoldReport = REPORT): Promise<boolean> {
    return await eventually(`epoch ${this.order.epoch} is asked for`, async () => {
      try {
        await this.#client.activity.heartbeat(this.#taskToken, report);
        return undefined;
      } catch (error) {
        if (error instanceof ActivityCancelledError) return true;
        if (error instanceof ActivityNotFoundError) return false;
        throw error;
      }
    });
  }
}
