import { relative } from 'node:path';
import { table } from '../../cli/print.ts';
import type { Admission, BatchStatus, ItemRecord } from '../../client.ts';
import type { DemoFolder } from './folder.ts';
import type { DemoReport } from './report.ts';
import { seconds } from './frame.ts';
import type { Story } from './scenario.ts';

/** A story and what onelane has on record of its item. */
export interface ToldStory {
  readonly story: Story;
  readonly record: ItemRecord;
}

/** What happened, for people: fault by fault, position by position where one was not accepted, and in total. */
export function summary(status: BatchStatus, report: DemoReport, stories: readonly ToldStory[]): string {
  const { accepted, duplicate, conflict, rejected, succeeded, dead, uncertain } = report;
  const { requests, perMs } = report.quota;
  return [
    storyTable(stories),
    '',
    table(['position', 'admission', 'key', ''], status.admissions.flatMap(admissionRow)),
    '',
    `  published    ${status.counts.published}: ${accepted} accepted, ${duplicate} duplicate, ${conflict} conflict, ${rejected} rejected`,
    `  accepted     ${accepted}: ${succeeded} succeeded, ${dead} dead, ${uncertain} uncertain`,
    `  upstream     ${report.effects} effects in its database; keys with more than one: ${report.keysWithTwoEffects}`,
    `  quota        ${requests} in ${seconds(perMs)}; most calls in any such window: ${report.maxInAnyWindow}; most at a time: ${report.maxInFlight}`,
    `  Retry-After  ${report.upstream429} times 429; calls that came too early: ${report.earlyCalls}`,
    `  used         ${percent(report.utilisation)} of the calls that quota and latency allow, the upstream's closures and absences included`,
  ].join('\n');
}

function storyTable(stories: readonly ToldStory[]): string {
  const rows = stories.map(({ story, record }) => [
    story.title,
    story.key,
    attemptsOf(record),
    endOf(record),
  ]);
  return table(['what the upstream did', 'to', 'attempts', 'what became of it'], rows);
}

/** What its calls ended as, in their order; several in a row that ended alike are one word. */
export function attemptsOf({ trail }: Pick<ItemRecord, 'trail'>): string {
  const runs: { verdict: string; count: number }[] = [];
  for (const { verdict } of trail) {
    const last = runs.at(-1);
    if (last?.verdict === verdict) last.count++;
    else runs.push({ verdict, count: 1 });
  }
  return runs.map(({ verdict, count }) => (count === 1 ? verdict : `${count} ${verdict}`)).join(', ');
}

function endOf({ state, receipt, evidence }: ItemRecord): string {
  if (state === 'succeeded') return receipt?.replayed ? 'succeeded, not done twice' : 'succeeded';
  return evidence === null ? state : `${state}: ${evidence.body}`;
}

function admissionRow(admission: Admission): string[][] {
  if (admission.admission === 'accepted') return [];
  const note =
    'reason' in admission ? admission.reason : 'of' in admission ? `of position ${admission.of}` : '';
  return [[String(admission.position), admission.admission, admission.key ?? '-', note]];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

/** Where to look further, as long as the demo stays up. */
export function whereToLook(ui: string | null, folder: DemoFolder, stories: readonly ToldStory[]): string {
  // The one that is not done is the most interesting.
  const example = stories.find(({ record }) => record.state !== 'succeeded') ?? stories[0];
  return [
    `  Web UI       ${ui ?? 'none'}`,
    `  one item     TEMPORAL_CONFIG_FILE=${fromHere(folder.temporalConfig)} npm run onelane -- item ${example?.story.key ?? ''}`,
    `  files        ${fromHere(folder.path)}: lanes.yaml, faults.json, upstream.db (effects and arrivals), logs`,
    '  Ctrl-C ends it all',
  ].join('\n');
}

function fromHere(path: string): string {
  return relative(process.cwd(), path);
}
