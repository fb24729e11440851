import type { BatchReport } from '../client.ts';
import type { ReportRow } from '../domain/batch-report.ts';
import { roughly } from './lanes.ts';
import { table } from './print.ts';

/** A batch's report for a person: every position, then the sums. */
export function describeReport(report: BatchReport): string {
  const paged = report.rows.some(({ page }) => page > 0);
  const rows = report.rows.map((row) => [...(paged ? [String(row.page)] : []), ...cellsOf(row)]);
  const head = [...(paged ? ['page'] : []), '#', 'key', 'admission', 'state', 'receipt', ''];
  return [table(head, rows), ...summary(report)].join('\n');
}

function cellsOf({ position, key, admission, state, receipt, by, reason }: ReportRow): string[] {
  const found = receipt && `${receipt.upstreamId ?? receipt.status ?? ''} (${receipt.foundBy})`.trim();
  const note = [by, reason].filter((text) => text !== null).join(': ');
  return [String(position), key ?? '-', admission, state ?? '-', found ?? '-', note];
}

function summary(report: BatchReport): string[] {
  const { batchId, lane, owner, publisher, counts, extent, failure, held, discarded, faults } = report;
  const { published, accepted, duplicate, conflict, rejected, pending, absent } = counts;
  const { succeeded, parked, terminated, open } = counts;
  return [
    `batch ${batchId}, lane ${lane}, owned by ${owner ?? '-'}, published by ${publisher ?? '-'}`,
    `pages: ${extent.arrived} of ${extent.pages ?? 'a number not told yet'}${absentPages(report)}`,
    ...(failure === null ? [] : [failureLine(failure)]),
    ...(held === null ? [] : [`paused by ${held.by}: ${held.reason}`]),
    ...(discarded === null ? [] : [`discarded by ${discarded.by}: ${discarded.reason}`]),
    `published ${published} = ${accepted} accepted + ${duplicate} duplicate + ${conflict} conflict + ` +
      `${rejected} rejected + ${pending} pending + ${absent} absent`,
    `accepted ${accepted} = ${succeeded} succeeded + ${parked} parked + ${counts.discarded} discarded + ` +
      `${terminated} terminated + ${open} open`,
    report.addsUp ? 'adds up: yes' : `adds up: no\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
    ...(open === 0 ? [] : [drainOf(report)]),
  ];
}

export function failureLine(failure: string): string {
  return `refused: ${failure}; nothing of it goes on until it is published again`;
}

function absentPages({ extent: { absentPages: pages, total } }: BatchReport): string {
  if (pages.length === 0) return '';
  const uncounted = total === null ? ', of how many items nobody has told' : '';
  return `; never arrived: ${pages.join(', ')}${uncounted}`;
}

function drainOf({ drainsInMs, held }: BatchReport): string {
  if (held !== null) return 'does not drain while it is paused';
  if (drainsInMs === null) return 'does not drain now: its lane is paused, held by nobody, or unanswered';
  return `drains within ${roughly(drainsInMs)}, at the full limit of its lane`;
}
