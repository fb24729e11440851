import { Command } from 'commander';
import { z } from 'zod';
import { type LaneStatus, laneStatuses } from '../client.ts';
import { formatDuration } from '../domain/duration.ts';
import { print, table } from './print.ts';
import { withClient } from './with-client.ts';

const flagsSchema = z.object({ json: z.boolean().optional() });

/** `onelane lanes`: who holds each lane, and how it goes. */
export function lanesCommand(): Command {
  return new Command('lanes')
    .description('show every open lane: its holder, whether it is open, its rate and its backlog')
    .option('--json', 'print one JSON array')
    .action(async (options: unknown) => {
      const { json } = flagsSchema.parse(options);
      const lanes = await withClient(laneStatuses);
      print(json, lanes, () => describeLanes(lanes));
    });
}

function describeLanes(lanes: readonly LaneStatus[]): string {
  if (lanes.length === 0) return 'no lane is open; a worker opens those of its lanes.yaml';
  const head = [
    'lane',
    'state',
    'holder',
    'lease age',
    'rate',
    'queued',
    'oldest',
    'open',
    'parked',
    'drains in',
  ];
  const warnings = lanes.flatMap((lane) => fingerprintWarning(lane) ?? []);
  return [table(head, lanes.map(row)), ...warnings].join('\n');
}

function row(lane: LaneStatus): string[] {
  const { limit, record } = lane;
  return [
    lane.name,
    describeState(lane),
    record?.holder ? record.holder.process : '-',
    roughly(lane.leaseAgeMs),
    limit === null
      ? '-'
      : `${lane.callsInWindow ?? 0} of ${limit.requests} per ${formatDuration(limit.perMs)}`,
    String(lane.queued),
    roughly(lane.oldestEligibleMs),
    String(lane.open),
    String(lane.parked),
    roughly(lane.drainsInMs),
  ];
}

function describeState({ state, record }: LaneStatus): string {
  switch (state) {
    case 'paused':
      return `paused by ${record?.paused?.by}: ${record?.paused?.reason}`;
    case 'closed':
      return `closed until ${new Date(record?.closedUntilMs ?? 0).toISOString()}: ${record?.closedBecause}`;
    case 'unknown':
      return 'unknown: no worker answered';
    case 'unheld':
      return 'unheld: nobody stands by';
    case 'open':
      return record?.draining ? `open, draining (by ${record.draining.by})` : 'open';
  }
}

/** Replicas with different files would keep different promises, depending on who holds. */
function fingerprintWarning({ name, record }: LaneStatus): string | undefined {
  const seen = new Set(record?.fingerprints.map(({ fingerprint }) => fingerprint));
  if (record === null || seen.size < 2) return undefined;
  const each = record.fingerprints.map(({ fingerprint, process }) => `${fingerprint} (${process})`);
  const holds = record.holder ? `; held by ${record.holder.fingerprint}` : '';
  return `warning: lane ${name} was offered different configurations: ${each.join(', ')}${holds}`;
}

/** To the second; exact for less than one. */
export function roughly(ms: number | null): string {
  if (ms === null) return '-';
  return formatDuration(ms < 1000 ? Math.round(ms) : Math.round(ms / 1000) * 1000);
}
