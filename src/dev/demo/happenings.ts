import type { SeenCall, WorkerLine } from './observe.ts';
import type { Story } from './scenario.ts';

/** Something worth telling while the batch runs. */
export interface Happening {
  /** milliseconds since 1970 */
  readonly atMs: number;
  readonly text: string;
}

/**
 * What the upstream's log and the worker's lines tell, in order: each call of a release that has a story, each
 * call that broke the quota, and whatever the worker says of its lane. All other calls just succeed.
 */
export function happeningsIn(
  calls: readonly SeenCall[],
  lines: readonly WorkerLine[],
  stories: readonly Story[],
): Happening[] {
  const storyOf = new Map(stories.map((story) => [story.key, story]));
  const callsOf = new Map<string, number>();
  const told: Happening[] = [];
  for (const call of calls) {
    const { key, wallMs, overQuota } = call;
    const nth = 1 + (callsOf.get(key ?? '') ?? 0);
    callsOf.set(key ?? '', nth);
    const story = key === null ? undefined : storyOf.get(key);
    if (story === undefined && !overQuota) continue;
    told.push({ atMs: wallMs, text: `${key ?? 'no key'}, call ${nth}: ${outcomeOf(call, story)}` });
  }
  for (const { event, at, text } of lines)
    if (event === 'lane' || event === 'warning') told.push({ atMs: Date.parse(at), text });
  return told.sort((a, b) => a.atMs - b.atMs);
}

function outcomeOf({ fault, overQuota, status, endedMs }: SeenCall, story: Story | undefined): string {
  if (overQuota) return 'over quota';
  if (fault !== null) return story?.kind === fault ? story.title : fault;
  if (status !== null) return String(status);
  return endedMs === null ? 'being worked on' : 'no answer';
}

/** How the lane is doing, as far as can be told from outside: from the calls that came, and what the worker says. */
export function laneLine(
  nowMs: number,
  calls: readonly SeenCall[],
  lines: readonly WorkerLine[],
  stories: readonly Story[],
): string {
  const lastCall = calls.at(-1);
  const lastSaid = lines.findLast(({ event }) => event === 'lane');
  // Said after the last call, so it still holds: nothing has left since.
  if (lastSaid && Date.parse(lastSaid.at) > (lastCall?.wallMs ?? -Infinity)) return lastSaid.text;
  if (lastCall === undefined) return 'no call yet';
  const quietMs = nowMs - lastCall.wallMs;
  if (quietMs < QUIET_MS) return 'open';
  const story = stories.find(({ key }) => key === lastCall.key);
  return `quiet for ${(quietMs / 1000).toFixed(1)} s, after ${outcomeOf(lastCall, story)}`;
}

/** An open lane calls every 200 ms or so; less often than this, something keeps it back. */
const QUIET_MS = 700;
