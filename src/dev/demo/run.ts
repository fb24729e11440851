import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import pMap from 'p-map';
import { type BatchStatus, batchStatus, itemRecord, NotFoundError, publish } from '../../client.ts';
import { formatDuration } from '../../domain/duration.ts';
import { describe, type FoundBinary } from '../temporal/find.ts';
import { readUpstreamFile } from '../upstream/database.ts';
import { DemoError, untilAborted } from './ending.ts';
import { type DemoFolder, makeFolder, writeFaults } from './folder.ts';
import { progressLine } from './frame.ts';
import { type Observation, readCalls, readWorkerLines } from './observe.ts';
import { brokenPromises, type DemoReport, reportOf } from './report.ts';
import { scenarioFrom, type Story } from './scenario.ts';
import { LANE, QUOTA } from './settings.ts';
import { Stage } from './stage.ts';
import { summary, type ToldStory, whereToLook } from './summary.ts';
import type { View } from './view.ts';

const LOOK_EVERY_MS = 1_000;
/** Four times what it takes; beyond that something is wrong, and waiting on would only hide it. */
const DONE_WITHIN_MS = 180_000;
const RECORDS_AT_ONCE = 5;

export interface DemoOptions {
  /** a whole number from 0 to 2^32 - 1 */
  readonly seed: number;
  readonly view: View;
  readonly binary: FoundBinary;
  /** the folder in which the demo was started */
  readonly cwd: string;
  /** goes on until the signal is aborted, so that one can look around, instead of ending with the batch */
  readonly stayUp: boolean;
  readonly signal: AbortSignal;
  /** told once, when the batch has ended: what came of it, and what of it is not as promised */
  readonly onReport: (report: DemoReport, broken: readonly string[]) => void;
}

/**
 * Shows one batch, from its publishing to its end. Whatever comes, all that was started has ended when this
 * settles.
 *
 * @throws DemoError, DevServerError, or the signal's reason when it is aborted before the report
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  const trouble = new AbortController();
  const signal = AbortSignal.any([options.signal, trouble.signal]);
  const folder = await makeFolder(options.cwd);
  const fail = (error: unknown) => trouble.abort(error);
  const stage = new Stage(folder, signal, fail);
  try {
    await show(options, folder, stage, signal, fail);
  } catch (error) {
    // Whatever breaks once the end was asked for, breaks because of it.
    signal.throwIfAborted();
    throw error;
  } finally {
    await stage.close();
  }
}

async function show(
  { seed, view, binary, stayUp, signal: asked, onReport }: DemoOptions,
  folder: DemoFolder,
  stage: Stage,
  signal: AbortSignal,
  fail: (error: unknown) => void,
): Promise<void> {
  const scenario = scenarioFrom(seed, folder.run);
  await writeFaults(folder, scenario.script);
  view.say(`onelane demo, seed ${seed}, run ${folder.run}`);
  view.say(`  Temporal     ${describe(binary)}`);
  const server = await stage.startTemporal(binary);
  view.say(`  Web UI       ${server.ui}`);
  const upstream = await stage.startUpstream();
  view.say(`  upstream     ${upstream.url}, ${QUOTA.requests} requests in ${formatDuration(QUOTA.perMs)}`);
  await stage.startWorker(upstream.url);
  view.say(`  worker       ready; it holds lane ${LANE}: one task queue, one slot`);
  const client = await stage.connect();

  const { items, stories } = scenario;
  const batchId = `demo:${folder.run}`;
  view.say(`  batch        ${batchId}, ${items.length} releases`);
  // Its answer comes once every item is admitted. The first have left by then, and there is something to see.
  const batch = { batchId, lane: LANE, publisher: 'onelane demo', items: [...items] };
  stage.ask(client.withAbortSignal(signal, () => publish(client, batch))).catch(fail);
  const look = lookAt(client, batchId, upstream.url, folder.log('worker'));
  const status = await untilDone(() => stage.ask(look()), stories, view, signal);

  const told = await stage.ask(recordsOf(client, stories));
  // Its database can be read only once it has ended; and it has nothing left to do.
  await upstream.stop();
  const report = reportOf(scenario, status.counts, await readUpstreamFile(folder.upstreamDb), QUOTA);
  const broken = brokenPromises(report, scenario);
  view.say(summary(status, report, told));
  view.say(`  promises     ${broken.length === 0 ? 'all held' : `${broken.length} did not hold`}`);
  onReport(report, broken);
  if (!stayUp) return;
  view.say('');
  view.say(whereToLook(server.ui, folder, told));
  await untilAborted(signal);
  // Asked to end, it has done what it should; else one of its parts died.
  if (!asked.aborted) signal.throwIfAborted();
}

/** Looks at everything that can be seen of a batch; undefined as long as Temporal has not heard of it. */
function lookAt(
  client: Client,
  batchId: string,
  upstreamUrl: string,
  workerLog: string,
): () => Promise<Observation | undefined> {
  const startedMs = Date.now();
  let lastCalls: Observation['calls'] = [];
  return async () => {
    const [status, calls, workerLines] = await Promise.all([
      statusIfKnown(client, batchId),
      readCalls(upstreamUrl),
      readWorkerLines(workerLog),
    ]);
    if (status === undefined) return undefined;
    lastCalls = calls ?? lastCalls;
    const upstreamListens = calls !== undefined;
    return { nowMs: Date.now(), startedMs, status, calls: lastCalls, upstreamListens, workerLines };
  };
}

async function statusIfKnown(client: Client, batchId: string): Promise<BatchStatus | undefined> {
  try {
    return await batchStatus(client, batchId);
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

async function untilDone(
  look: () => Promise<Observation | undefined>,
  stories: readonly Story[],
  view: View,
  signal: AbortSignal,
): Promise<BatchStatus> {
  for (;;) {
    const seen = await look();
    if (seen !== undefined) {
      view.show(seen, stories);
      const { nowMs, startedMs, status } = seen;
      if (status.admitted && status.counts.open === 0) return status;
      if (nowMs - startedMs > DONE_WITHIN_MS)
        throw new DemoError(
          `the batch: expected its end within ${formatDuration(DONE_WITHIN_MS)}, got ${progressLine(seen).trim()}`,
        );
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

function recordsOf(client: Client, stories: readonly Story[]): Promise<ToldStory[]> {
  const toldOf = async (story: Story) => ({ story, record: await itemRecord(client, story.key) });
  return pMap(stories, toldOf, { concurrency: RECORDS_AT_ONCE });
}
