import type { Client } from '@temporalio/client';
import {
  type BatchStatus,
  type ItemRecord,
  type LaneStatus,
  type PublishOptions,
  type Published,
  batchStatus,
  itemRecord,
  laneStatus,
  laneStatuses,
  publish,
} from '../client.ts';
import { type WaitOptions, waitForBatch, waitForItem } from '../client/wait.ts';
import { connectClient } from '../connection.ts';
import { type BatchInput, asBatch } from './batch-input.ts';
import { type Operate, operate } from './operate.ts';

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
  /** @throws NotFoundError */
  status(batchId: string): Promise<BatchStatus>;
  /** @throws NotFoundError */
  item(key: string): Promise<ItemRecord>;
  /**
   * Resolves once every accepted item of a batch has ended or parked. Parked ones wait for a person; see their states.
   *
   * @throws NotFoundError, UnansweredError when that is not so within `withinMs`
   */
  wait(batchId: string, options?: WaitOptions): Promise<BatchStatus>;
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
    publish: (batch, publishOptions) => publish(client, asBatch(batch), publishOptions),
    status: (batchId) => batchStatus(client, batchId),
    item: (key) => itemRecord(client, key),
    wait: (batchId, waitOptions) => waitForBatch(client, batchId, waitOptions),
    waitForItem: (key, waitOptions) => waitForItem(client, key, waitOptions),
    lanes: () => laneStatuses(client),
    lane: (name) => laneStatus(client, name),
    operate: operate(client),
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
