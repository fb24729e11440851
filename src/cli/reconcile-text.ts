import type { Sample } from '../client/sample.ts';
import type { Finding } from '../domain/delivery.ts';
import type { Reconciled } from '../domain/reconcile.ts';

export type ResultCounts = Record<Reconciled['kind'], number>;

export function countResults(results: readonly Reconciled[]): ResultCounts {
  const counts: ResultCounts = {
    settled: 0,
    uncertain: 0,
    claim: 0,
    agrees: 0,
    unproven: 0,
    contradicts: 0,
    notAskable: 0,
    moved: 0,
  };
  for (const { kind } of results) counts[kind]++;
  return counts;
}

/** One line; undefined for what is as it should be. */
export function describeResult(result: Reconciled): string | undefined {
  const says = sentenceOf(result);
  return says === undefined ? undefined : `${result.key}  ${says}`;
}

function sentenceOf(result: Reconciled): string | undefined {
  switch (result.kind) {
    case 'settled':
      return result.state === 'succeeded'
        ? 'settled as succeeded: the upstream has it'
        : 'settled as dead: surely not applied; redrive it to send it';
    case 'uncertain':
      return `stays uncertain: no evidence (${result.why})`;
    case 'claim':
      return `${result.state}: ${describeFinding(result.finding)}; its own next attempt decides`;
    case 'unproven':
      return `succeeded here; the upstream tells neither yes nor no (${result.why})`;
    case 'contradicts':
      return `CONTRADICTS: succeeded here ${describeHere(result)}; there: ${describeFinding(result.there)}`;
    case 'notAskable':
      return `${result.state}: lane ${result.lane} has no lookup`;
    case 'moved':
      return `not settled: ${result.why}`;
    case 'agrees':
      return undefined;
  }
}

function describeHere({ here }: Extract<Reconciled, { kind: 'contradicts' }>): string {
  const who = here.by === null ? '' : `, on the word of ${here.by}`;
  return `at ${here.at} (upstream ID ${here.upstreamId ?? 'unknown'}${who})`;
}

function describeFinding(finding: Finding): string {
  switch (finding.kind) {
    case 'found':
      return `the upstream has it (upstream ID ${finding.receipt.upstreamId ?? 'unknown'})`;
    case 'absent':
      return `the upstream has it not (${finding.status})`;
    case 'noEvidence':
      return `no evidence (${finding.why})`;
  }
}

export function describeCounts(counts: ResultCounts, sample: Sample | null): string {
  const asked = Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.notAskable;
  const lines = [
    `${asked} asked about: ${counts.settled} settled, ${counts.uncertain} stay uncertain, ` +
      `${counts.claim} open claims, ${counts.moved} moved meanwhile`,
    `${counts.notAskable} can't be asked about`,
  ];
  if (sample !== null)
    lines.push(
      `sample of those that succeeded, drawn by seed ${sample.seed}: ${counts.agrees} agree, ` +
        `${counts.unproven} unproven, ${counts.contradicts} contradict`,
    );
  return lines.join('\n');
}
