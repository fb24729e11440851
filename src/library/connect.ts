import type { Client } from '@temporalio/client';
import {
  type BatchReport,
  type BatchStatus,
  type ItemRecord,
  type LaneStatus,
  type PublishOptions,
  type Published,
  type PublishedPage,
  batchReport,
  batchStatus,
  itemRecord,
  laneStatus,
  laneStatuses,
  publish,
  publishPages,
} from '../client.ts';
import { type WaitOptions, waitForBatch, waitForItem } from '../client/wait.ts';
import { connectClient } from '../connection.ts';
import { type BatchInput, type LongBatchInput, asBatch } from './batch-input.ts';
import { type Operate, operate } from './operate.ts';
import { type Schedules, schedules } from './schedules.ts';

/** Which Temporal. What is left out is found by Temporal's own environment configuration, as the command does. */
export interface ConnectOptions {
  /** host:port, over TEMPORAL_ADDRESS */
  readonly address?: string;
  /** over TEMPORAL_NAMESPACE */
  readonly namespace?: string;
  /** `process.env` by default */
  readonly env?: NodeJS.ProcessEnv;
}

/** A connection to onelane: what the `onelane` command does, for TypeScript. */
export interface Onelane {
  /** Temporal's own client, for what is not offered here */
  readonly client: Client;
  /**
   * Publishes one page of a batch, and resolves with the admission of each item. Publishing the same again gives the
   * same answers, and starts nothing twice.
   *
   * @throws BatchRefusedError, BatchIdTakenError, NamespaceNotReadyError
   */
  publish<Payload>(batch: BatchInput<Payload>, options?: PublishOptions): Promise<Published>;
  /**
   * Publishes a batch of any length, page by page, and yields what became of each, in order. Stopped in the middle, the
   * same batch published again goes on from there and gives the same admissions.
   *
   * @throws what `publish` throws; the pages before it stand
   */
  publishPages<Payload>(
    batch: LongBatchInput<Payload>,
    options?: PublishOptions,
  ): AsyncGenerator<PublishedPage>;
  /**
   * One page of a batch.
   *
   * @throws NotFoundError
   */
  status(batchId: string, page?: number): Promise<BatchStatus>;
  /**
   * Accounts for a batch, over all of its pages, in sums that add up.
   *
   * @throws NotFoundError
   */
  report(batchId: string): Promise<BatchReport>;
  /** @throws NotFoundError */
  item(key: string): Promise<ItemRecord>;
  /**
   * Resolves once every accepted item of a batch has ended or parked, on all of its pages. Parked ones wait for a person.
   *
   * @throws NotFoundError, BatchRefusedError, UnansweredError when that is not so within `withinMs`
   */
  wait(batchId: string, options?: WaitOptions): Promise<BatchReport>;
  /**
   * Resolves once an item has ended or parked.
   *
   * @throws NotFoundError, UnansweredError when that is not so within `withinMs`
   */
  waitForItem(key: string, options?: WaitOptions): Promise<ItemRecord>;
  /** every open lane */
  lanes(): Promise<LaneStatus[]>;
  /** @throws NotFoundError */
  lane(name: string): Promise<LaneStatus>;
  /** what operators do, each under a name and for a reason */
  readonly operate: Operate;
  /** batches that come by the clock */
  readonly schedules: Schedules;
  close(): Promise<void>;
}

/**
 * Connects to Temporal; nothing else is needed to publish and to ask.
 *
 * @throws TemporalConfigError, TemporalUnreachableError
 */
export async function connect(options: ConnectOptions = {}): Promise<Onelane> {
  const client = await connectClient({ env: environmentOf(options) });
  return { ...onelaneOf(client), close: () => client.connection.close() };
}

/** The same over a client of yours, e.g. one that encrypts payloads; closing it stays yours. */
export function onelaneOf(client: Client): Onelane {
  return {
    client,
    publish: async (batch, publishOptions) => await publish(client, asBatch(batch), publishOptions),
    publishPages: (batch, publishOptions) => publishPages(client, batch, publishOptions),
    status: (batchId, page) => batchStatus(client, batchId, page),
    report: (batchId) => batchReport(client, batchId),
    item: (key) => itemRecord(client, key),
    wait: (batchId, waitOptions) => waitForBatch(client, batchId, waitOptions),
    waitForItem: (key, waitOptions) => waitForItem(client, key, waitOptions),
    lanes: () => laneStatuses(client),
    lane: (name) => laneStatus(client, name),
    operate: operate(client),
    schedules: schedules(client),
    close: () => Promise.resolve(),
  };
}

/** The environment, with what the options say over it. */
export function environmentOf({ address, namespace, env = process.env }: ConnectOptions): NodeJS.ProcessEnv {
  return {
    ...env,
    ...(address === undefined ? {} : { TEMPORAL_ADDRESS: address }),
    ...(namespace === undefined ? {} : { TEMPORAL_NAMESPACE: namespace }),
  };
}
