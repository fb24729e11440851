import type { AuditReport, CallReference, Check, LaneAudit } from '../domain/audit.ts';
import type { DoctoredFile } from './read-send-logs.ts';

/** An audit for people. */
export function describeAudit(
  report: AuditReport,
  torn: readonly { readonly file: string; readonly line: number }[],
): string {
  const calls = report.lanes.reduce((sum, lane) => sum + lane.calls, 0);
  return [
    ...report.lanes.flatMap(describeLane),
    ...describeCheck('same bytes per key', report.sameBytes),
    ...torn.map(({ file, line }) => `${file}:${line}: torn: its process was killed while it wrote this line`),
    `${report.clean ? 'clean' : 'NOT CLEAN'}: ${count(calls, 'call')} of ${count(report.lanes.length, 'lane')}`,
  ].join('\n');
}

export function describeDoctored(doctored: readonly DoctoredFile[]): string {
  return [
    ...doctored.map(({ file, line, problem }) => `${file}:${line}: ${problem}`),
    'NOT CLEAN: a log that was changed after it was written proves nothing',
  ].join('\n');
}

function describeLane(lane: LaneAudit): string[] {
  const { window, inFlight, retryAfter, epochs } = lane.checks;
  return [
    `lane ${lane.lane}: ${count(lane.calls, 'call')}, ${count(lane.keys, 'key')}`,
    `  ${verdicts(lane)}`,
    `  ${pace(lane)}`,
    `  ${holders(lane)}`,
    ...describeCheck(`quota (most seen in any window: ${lane.mostInAnyWindow})`, window),
    ...describeCheck(`in flight (most seen open: ${lane.mostOpen})`, inFlight),
    ...describeCheck('Retry-After', retryAfter),
    ...lane.earlyProbes.map((call) => `    early probe after a crash, as allowed: ${describeCall(call)}`),
    ...describeCheck('one holder at a time', epochs),
  ];
}

function verdicts(lane: LaneAudit): string {
  const named = Object.entries(lane.verdicts).filter(([, calls]) => calls > 0);
  return [
    ...named.map(([verdict, calls]) => `${calls} ${verdict}`),
    `${lane.withoutEnd} without an end in the logs`,
  ].join(', ');
}

function pace({ callsPerSecond, meanLatencyMs, shareOfReachable }: LaneAudit): string {
  const known = [
    callsPerSecond === null ? [] : `${callsPerSecond.toFixed(2)} calls/s`,
    meanLatencyMs === null ? [] : `mean latency ${meanLatencyMs.toFixed(1)} ms`,
    shareOfReachable === null ? [] : `${(shareOfReachable * 100).toFixed(1)} % of what can be reached`,
  ].flat();
  return known.length === 0 ? 'too few calls for a rate' : known.join(', ');
}

function holders({ epochs, takeovers, handovers, epochsWithoutLog }: LaneAudit): string {
  const missing =
    epochsWithoutLog === 0 ? '' : `; without a log here: ${count(epochsWithoutLog, 'epoch')} between them`;
  return `${count(epochs, 'epoch')}, ${count(takeovers, 'takeover')}, ${count(handovers, 'handover')}${missing}`;
}

function describeCheck(name: string, check: Check): string[] {
  if (check.ok) return [`  ${name}: ok`];
  const unlisted = check.found - check.violations.length;
  return [
    `  ${name}: ${count(check.found, 'violation')}`,
    ...check.violations.flatMap(({ says, calls }) => [
      `    ${says}`,
      ...calls.map((call) => `      ${describeCall(call)}`),
    ]),
    ...(unlisted > 0 ? [`    and ${unlisted} more`] : []),
  ];
}

function describeCall({ call, key, epoch, process, leftAt }: CallReference): string {
  return `${instant(leftAt)}  ${key}  (call ${call}, epoch ${epoch}, ${process})`;
}

/** ISO 8601, to the microsecond, which is what the logs have. */
function instant(epochMs: number): string {
  const micros = Math.round((epochMs % 1) * 1_000);
  return new Date(Math.floor(epochMs)).toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`);
}

function count(number: number, noun: string): string {
  return `${number} ${number === 1 ? noun : `${noun}s`}`;
}
