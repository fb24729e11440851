import { EXPECTED } from './scenario.ts';
import { happeningsIn, laneLine } from './happenings.ts';
import type { Observation, SeenCall } from './observe.ts';
import { LANE, QUOTA } from './settings.ts';
import type { Story } from './scenario.ts';

const BAR_WIDTH = 40;
const LAST_HAPPENINGS = 8;
/** Long enough to be calm, short enough to show a closed lane. */
const RATE_OVER_MS = 5_000;

/** What the terminal shows at a moment: always as many lines, so that it stands still. */
export function frame(observation: Observation, stories: readonly Story[]): string[] {
  const { nowMs, startedMs, status, calls, upstreamListens, workerLines } = observation;
  const { succeeded, dead, uncertain, open } = status.counts;
  const done = succeeded + dead + uncertain;
  const filled = Math.round((BAR_WIDTH * done) / EXPECTED.accepted);
  const happenings = happeningsIn(calls, workerLines, stories).slice(-LAST_HAPPENINGS);
  const lane = upstreamListens
    ? laneLine(nowMs, calls, workerLines, stories)
    : 'the upstream refuses connections';
  return [
    '',
    `  ${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}  ${done} of ${EXPECTED.accepted}   ${seconds(nowMs - startedMs)}`,
    '',
    `  items      ${open} open, ${succeeded} succeeded, ${dead} dead, ${uncertain} uncertain`,
    `  calls      ${calls.length}, now ${rate(calls, nowMs).toFixed(1)} per second; the quota is ${QUOTA.requests} in ${seconds(QUOTA.perMs)}`,
    `  ${LANE.padEnd(10)} ${lane}`,
    '',
    ...Array.from({ length: LAST_HAPPENINGS }, (_, i) => {
      const happening = happenings[i];
      return happening === undefined
        ? ''
        : `  ${seconds(happening.atMs - startedMs).padStart(7)}  ${happening.text}`;
    }),
    '',
  ];
}

/** The same for whoever can't redraw: one line. */
export function progressLine({ nowMs, startedMs, status, calls }: Observation): string {
  const { succeeded, dead, uncertain, open } = status.counts;
  const items = `${open} open, ${succeeded} succeeded, ${dead} dead, ${uncertain} uncertain`;
  return `${seconds(nowMs - startedMs).padStart(7)}  ${items}; ${calls.length} calls`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function rate(calls: readonly SeenCall[], nowMs: number): number {
  return calls.filter(({ wallMs }) => wallMs > nowMs - RATE_OVER_MS).length / (RATE_OVER_MS / 1000);
}
