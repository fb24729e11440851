import { setTimeout as sleep } from 'node:timers/promises';
import type { Arrival, Effect } from '../fleet/door.ts';
import type { Replica } from '../fleet/replica.ts';
import { eventually } from '../fleet/until.ts';
import type { Draw } from './draw.ts';
import { KINDS } from './kinds.ts';
import { patiently } from './patiently.ts';
import type { Stage } from './stage.ts';

/** What is killed with SIGKILL, and at which moment of a call. */
export const STRIKES = [
  'holderBetweenCalls',
  'holderBeforeEffect',
  'holderAfterEffect',
  'holderAfterAnswer',
  'anyWorker',
  'everyWorker',
  'upstream',
  'temporal',
] as const;
export type Strike = (typeof STRIKES)[number];

export interface Struck {
  readonly strike: Strike;
  readonly lane: string;
  /** false: it did not come within reach, and the blow fell at any moment */
  readonly atItsMoment: boolean;
}

/** A moment that does not come is not waited for. */
const MOMENT_WITHIN_MS = 8_000;
const LOOK_EVERY_MS = 10;
/** An answer younger than this is being recorded. */
const JUST_NOW_MS = 40;
const AWAY_MOST_MS = 2_000;
const WORK_WITHIN_MS = 120_000;

/** Kills so many processes, spread over the time in which so many calls arrive, and starts each again. */
export async function strikeAll(
  stage: Stage,
  draw: Draw,
  kills: number,
  expectedArrivals: number,
): Promise<Struck[]> {
  const struck: Struck[] = [];
  for (const [n, strike] of drawn(draw, kills).entries()) {
    const arrivals = (expectedArrivals * (n + 1)) / (kills + 1);
    await eventually(`${arrivals} arrivals`, WORK_WITHIN_MS, async () =>
      (await stage.arrivals()) >= arrivals ? true : undefined,
    );
    struck.push(await strikeOnce(stage, draw, strike));
  }
  return struck;
}

/** Each kind once before any comes twice. */
function drawn(draw: Draw, kills: number): Strike[] {
  const rounds = Math.ceil(kills / STRIKES.length);
  return Array.from({ length: rounds }, () => draw.shuffled(STRIKES))
    .flat()
    .slice(0, kills);
}

async function strikeOnce(stage: Stage, draw: Draw, strike: Strike): Promise<Struck> {
  const { lane } = draw.one(KINDS);
  const awayMs = draw.between(0, AWAY_MOST_MS);
  const replace = async (killed: readonly Replica[]) => {
    await sleep(awayMs);
    await Promise.all(killed.map(() => stage.replicas.start()));
  };
  switch (strike) {
    case 'holderBetweenCalls':
    case 'holderBeforeEffect':
    case 'holderAfterEffect':
    case 'holderAfterAnswer': {
      const { holder, atItsMoment } = await holderAt(stage, lane, MOMENTS[strike]);
      await holder.kill();
      await replace([holder]);
      return { strike, lane, atItsMoment };
    }
    case 'anyWorker':
    case 'everyWorker': {
      const { alive } = stage.replicas;
      const victims = strike === 'everyWorker' ? alive : [draw.one(alive)];
      await Promise.all(victims.map((replica) => replica.kill()));
      await replace(victims);
      return { strike, lane, atItsMoment: true };
    }
    case 'upstream': {
      const upstream = stage.upstreamOf(lane);
      await upstream.kill();
      await sleep(awayMs);
      await upstream.startAgain();
      return { strike, lane, atItsMoment: true };
    }
    case 'temporal': {
      await stage.killTemporal();
      await sleep(awayMs);
      await stage.startTemporalAgain();
      return { strike, lane, atItsMoment: true };
    }
  }
}

/** Whether a lane is at a moment, by its upstream's log and effects. */
type Moment = (newest: Arrival, effects: readonly Effect[]) => boolean;

const MOMENTS = {
  holderBetweenCalls: ({ endedMs }) => endedMs !== null,
  holderBeforeEffect: ({ key, endedMs }, effects) => endedMs === null && !done(key, effects),
  holderAfterEffect: ({ key, endedMs }, effects) => endedMs === null && done(key, effects),
  holderAfterAnswer: ({ wallMs, monotonicMs, endedMs }) =>
    endedMs !== null && Date.now() - (wallMs + endedMs - monotonicMs) < JUST_NOW_MS,
} satisfies Record<string, Moment>;

function done(key: string | null, effects: readonly Effect[]): boolean {
  return effects.some((effect) => effect.key === key);
}

/** Who holds the lane, when its upstream is at the moment. */
async function holderAt(
  stage: Stage,
  lane: string,
  moment: Moment,
): Promise<{ holder: Replica; atItsMoment: boolean }> {
  const { door } = stage.upstreamOf(lane);
  const holder = await eventually(`a holder of ${lane}`, WORK_WITHIN_MS, () => stage.holderOf(lane));
  const giveUpAt = performance.now() + MOMENT_WITHIN_MS;
  while (performance.now() < giveUpAt) {
    // The effects first: one that is there when the call is still open was made before its answer.
    const effects = await patiently(() => door.effects());
    const newest = (await patiently(() => door.arrivals())).at(-1);
    if (newest !== undefined && moment(newest, effects)) return { holder, atItsMoment: true };
    await sleep(LOOK_EVERY_MS);
  }
  return { holder, atItsMoment: false };
}
