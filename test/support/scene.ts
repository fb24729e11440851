import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Upstream, type UpstreamOptions, startUpstream } from '../../src/dev/upstream/server.ts';
import type { ArrivalRecord } from '../../src/dev/upstream/records.ts';
import type { LaneConfig } from '../../src/domain/policy.ts';
import { type LaneChanges, laneConfig } from './lane.ts';
import type { Stage } from './stage.ts';

export interface SceneOptions {
  readonly upstream?: Partial<UpstreamOptions>;
  readonly lane?: LaneChanges;
  /** false: dispatch knows the lane, and nobody consumes it */
  readonly open?: boolean;
}

/** One lane to one upstream, both a test's own. */
export interface Scene {
  readonly config: LaneConfig;
  readonly upstream: Upstream;
  readonly arrivalsOf: (key: string) => ArrivalRecord[];
  /** how often the upstream did it */
  readonly effectsOf: (key: string) => number;
}

/** Runs a test with a lane of its own, and stops all of it afterwards. */
export async function withLane(
  stage: Stage,
  lane: string,
  options: SceneOptions,
  test: (scene: Scene) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'onelane-scene-'));
  const upstream = await startUpstream({
    file: join(folder, 'upstream.db'),
    mode: 'keys',
    quota: { requests: 10_000, perMs: 1_000 },
    ...options.upstream,
  });
  try {
    const config = laneConfig(lane, upstream.url, options.lane);
    if (options.open === false) stage.lanes.set(lane, config);
    else stage.openLane(config);
    await test({
      config,
      upstream,
      arrivalsOf: (key) => upstream.arrivals().filter((arrival) => arrival.key === key),
      effectsOf: (key) => upstream.effects().filter((effect) => effect.key === key).length,
    });
  } finally {
    await stage.closeLane(lane);
    await upstream.close();
    await rm(folder, { recursive: true });
  }
}
