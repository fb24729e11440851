import type { Client } from '@temporalio/client';
import pMap from 'p-map';
import { triage } from '../domain/admission.ts';
import { type BatchOrders, pagesOf } from '../domain/batch.ts';
import {
  type ReportCounts,
  type ReportExtent,
  type ReportPage,
  type ReportRow,
  countReport,
  extentOf,
  faultsOf,
} from '../domain/batch-report.ts';
import { laneName } from '../domain/ids.ts';
import { hasEnded, isParked } from '../domain/item.ts';
import { type BatchPage, batchPages } from './batch-pages.ts';
import { batchRows } from './batch-rows.ts';
import { statusOf } from './batch-status.ts';
import { NotFoundError } from './errors.ts';
import { laneStatus } from './lane-status.ts';

const LANES_AT_ONCE = 10;

/** An accounting of a batch over all of its pages. Once nothing of it is open it stays the same. */
export interface BatchReport extends BatchOrders {
  readonly batchId: string;
  readonly lane: string;
  /** who answers for the lane, and so for what is parked; null while no page has been dispatched */
  readonly owner: string | null;
  readonly publisher: string | null;
  /** why the workflow of one of its pages failed: what is pending there is until the batch is published again */
  readonly failure: string | null;
  readonly extent: ReportExtent;
  readonly counts: ReportCounts;
  readonly addsUp: boolean;
  /** what keeps it from adding up */
  readonly faults: readonly string[];
  /** at the full limit, for all that is open in its lanes; null when nothing of it is open, or does not drain */
  readonly drainsInMs: number | null;
  /** by page and position */
  readonly rows: readonly ReportRow[];
}

/**
 * Accounts for a batch: every position with its admission, state and receipt, in sums that must add up. Works with
 * no worker running.
 *
 * @throws NotFoundError
 */
export async function batchReport(client: Client, batchId: string): Promise<BatchReport> {
  const pages: ArrivedPage[] = [];
  for await (const page of batchPages(client, batchId)) pages.push(await reportPage(client, page));
  const [first] = pages;
  if (first === undefined) throw new NotFoundError(`batch "${batchId}": none of its pages has arrived`);
  const faults = faultsOf(pages);
  const told = <Name extends keyof About>(name: Name): About[Name] | null =>
    pages.find(({ about }) => about[name] !== null)?.about[name] ?? null;
  const held = told('held');
  const open = new Set(pages.flatMap((page) => page.open));
  return {
    batchId,
    lane: first.about.lane,
    owner: told('owner'),
    publisher: told('publisher'),
    failure: told('failure'),
    held,
    discarded: told('discarded'),
    extent: extentOf(pages),
    counts: countReport(pages),
    addsUp: faults.length === 0,
    faults,
    drainsInMs: held === null ? await drainsInMs(client, [...open]) : null,
    rows: pages.flatMap(({ rows }) => rows),
  };
}

interface About extends BatchOrders {
  readonly lane: string;
  readonly owner: string | null;
  readonly publisher: string | null;
  readonly failure: string | null;
}

interface ArrivedPage extends ReportPage {
  readonly about: About;
  /** the full names of the lanes in which items of it are open */
  readonly open: readonly string[];
}

/** One page of the report, without its items' payloads. */
async function reportPage(client: Client, arrived: BatchPage): Promise<ArrivedPage> {
  const { page, batch, plan, description } = arrived;
  const { held, discarded, ...status } = await statusOf(client, description, arrived);
  const { workflowId } = description;
  const rows = await batchRows(client, { workflowId, page }, { held, discarded, ...status });
  return {
    page,
    published: batch.items.length,
    pages: pagesOf(batch),
    total: batch.total ?? (pagesOf(batch) === 1 ? batch.items.length : null),
    rows,
    about: {
      lane: batch.lane,
      owner: plan?.policy.owner ?? null,
      publisher: batch.publisher ?? null,
      failure: status.failure,
      held,
      discarded,
    },
    open: openLanes(arrived, rows),
  };
}

function openLanes({ batch, plan }: BatchPage, rows: readonly ReportRow[]): string[] {
  if (plan === undefined) return [];
  const partitions = new Map(
    triage(batch, plan.policy).candidates.map(({ position, item }) => [position, item.partition ?? null]),
  );
  return rows.filter(isOpen).map(({ position }) => laneName(batch.lane, partitions.get(position) ?? null));
}

function isOpen({ admission, state }: ReportRow): boolean {
  return admission === 'accepted' && state !== null && !hasEnded(state) && !isParked(state);
}

async function drainsInMs(client: Client, lanes: readonly string[]): Promise<number | null> {
  const times = await pMap(lanes, (name) => laneDrainsInMs(client, name), { concurrency: LANES_AT_ONCE });
  return times.reduce<number | null>(
    (longest, time) => (longest === null || time === null ? null : Math.max(longest, time)),
    times.length === 0 ? null : 0,
  );
}

async function laneDrainsInMs(client: Client, name: string): Promise<number | null> {
  try {
    return (await laneStatus(client, name)).drainsInMs;
  } catch (error) {
    // Nobody has opened it, or it has ended: nothing drains there.
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
