import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Client } from '@temporalio/client';
import type { Grant } from '../../src/api/caller.ts';
import { type Keys, type RunningApi, awayClient, keysFor, startApi } from './api.ts';
import { type Stage, devServerStage } from './stage.ts';

interface ApiStageOptions<Name extends string> {
  /** a key for each; without any, the service asks for none */
  readonly grants?: Record<Name, Grant>;
  /** whether lane workflows run */
  readonly laneDesk?: boolean;
}

/** The HTTP service in this process, over a dev server, with dispatch running. */
export interface ApiStage<Name extends string> {
  readonly url: string;
  /** what it told its log */
  readonly said: readonly string[];
  readonly stage: Stage;
  readonly keys: Keys<Name>;
}

/** Gives a test file an HTTP service of its own, for as long as its tests run. */
export function useApi<Name extends string = never>({
  grants,
  laneDesk = false,
}: ApiStageOptions<Name> = {}): ApiStage<Name> {
  let stage: Stage | undefined;
  let keys: Keys<Name> | undefined;
  let api: RunningApi | undefined;
  before(async () => {
    stage = await devServerStage();
    await stage.startDispatch();
    if (laneDesk) await stage.startLaneDesk();
    if (grants !== undefined) keys = await keysFor(grants);
    api = await startApi(stage.client, { keys: keys?.ring ?? null });
  });
  after(async () => {
    await api?.close();
    await stage?.close();
    await keys?.remove();
  });
  return {
    get url() {
      return there(api).url;
    },
    get said() {
      return there(api).said;
    },
    get stage() {
      return there(stage);
    },
    get keys() {
      return there(keys);
    },
  };
}

/**
 * Gives a test file an HTTP service whose Temporal is away. What gets as far as Temporal is told so (503): all that is
 * wrong with a request must be found before.
 */
export function useAwayApi(): { readonly url: string; readonly client: Client } {
  let client: Client | undefined;
  let api: RunningApi | undefined;
  before(async () => {
    client = await awayClient();
    api = await startApi(client);
  });
  after(async () => {
    await api?.close();
    await client?.connection.close();
  });
  return {
    get url() {
      return there(api).url;
    },
    get client() {
      return there(client);
    },
  };
}

function there<T>(value: T | undefined): T {
  assert.ok(value !== undefined, 'it is there only while tests run, and as far as it was asked for');
  return value;
}
