import { type AuditReport, audit } from '../../src/domain/audit.ts';
import { type LineBody, sealLine } from '../../src/domain/audit/lines.ts';
import type { SendLogContents } from '../../src/domain/audit/contents.ts';
import { SendLogReader } from '../../src/domain/audit/log-reader.ts';
import { digest } from '../../src/domain/canonical.ts';
import {
  type Rules,
  type SimulatedCall,
  type SimulatedEpoch,
  type Simulation,
  firstAfterAnswer,
} from './audit-simulator.ts';

// The send logs of a simulated lane: each epoch is a process of its own, on one of two hosts in turn.

/** Where simulated time begins; today's size, so that rounding is what it is in real logs. */
const START_EPOCH_MS = 1_790_000_000_000;

/** By how many ms hosts' clocks are ahead. */
export type Offsets = { readonly [host: string]: number };

export function hostOf(epoch: number): string {
  return `host-${epoch % 2}`;
}

export function writeLogs({ calls, epochs }: Simulation, offsets: Offsets = {}): string[] {
  return epochs.map((epoch, i) =>
    chain(linesOf(epoch, calls, offsets[hostOf(epoch.epoch)] ?? 0, nonceOf(i))),
  );
}

interface Event {
  readonly at: number;
  readonly line: LineBody;
}

function linesOf(
  epoch: SimulatedEpoch,
  calls: readonly SimulatedCall[],
  offsetMs: number,
  nonce: string,
): LineBody[] {
  const at = (ms: number) => Math.round((START_EPOCH_MS + offsetMs + ms) * 1_000) / 1_000;
  const lane = { lane: 'releases', epoch: epoch.epoch };
  const process = `process-${epoch.epoch}`;
  const opened = at(epoch.opened);
  const events: Event[] = calls.flatMap((call, position) => [
    ...epoch.overrides
      .filter(({ beforeCall }) => beforeCall === position)
      .map((override) => ({
        at: override.at,
        line: { kind: 'limits' as const, ...lane, ...termsOf(override.rules), at: at(override.at) },
      })),
    ...(call.epoch === epoch.epoch
      ? [...answeredBefore(call, calls, at), ...eventsOf(call, idOf(call, calls), process, at)]
      : []),
  ]);
  return [
    {
      kind: 'log',
      format: 1,
      nonce,
      process,
      host: hostOf(epoch.epoch),
      at: opened,
      torn: null,
    },
    {
      kind: 'opened',
      ...lane,
      holder: process,
      ...termsOf(epoch.rules),
      timeoutMs: epoch.rules.timeoutMs,
      at: opened,
    },
    ...events.sort((a, b) => a.at - b.at).map(({ line }) => line),
    ...(epoch.handedOver === null
      ? []
      : [{ kind: 'handedOver' as const, ...lane, at: at(epoch.handedOver) }]),
  ];
}

function idOf(call: SimulatedCall, calls: readonly SimulatedCall[]): string {
  return `${call.epoch}:${calls.indexOf(call)}`;
}

/** What the log has to say of others before this call leaves. */
function answeredBefore(
  call: SimulatedCall,
  calls: readonly SimulatedCall[],
  at: (ms: number) => number,
): Event[] {
  return calls.flatMap((other) =>
    other.answered !== null && firstAfterAnswer(other, calls) === call
      ? [
          {
            at: call.left,
            line: { kind: 'answered' as const, call: idOf(other, calls), answeredAt: at(other.answered) },
          },
        ]
      : [],
  );
}

function eventsOf(call: SimulatedCall, id: string, process: string, at: (ms: number) => number): Event[] {
  const { epoch, key, left, answered, ended, verdict, retryAfterMs } = call;
  const departure = {
    call: id,
    lane: 'releases',
    epoch,
    key,
    attempt: 1,
    sha256: digest(call.body),
    lookup: false,
    probe: false,
    leftAt: at(left),
  };
  const leaving: Event = { at: left, line: { kind: 'left', ...departure } };
  if (ended === null) return [leaving];
  const line: LineBody = {
    kind: 'call',
    ...departure,
    holder: process,
    answeredAt: answered === null ? null : at(answered),
    verdict,
    end: answered === null ? 'TIMEOUT' : verdict === 'throttled' ? 429 : 200,
    retryAfter: retryAfterMs === null ? null : String(retryAfterMs / 1_000),
    retryAfterMs,
    endedAt: at(ended),
  };
  return [leaving, { at: ended, line }];
}

function termsOf({ requests, perMs, arrivalWithinMs, maxInFlight }: Rules) {
  return { limit: { requests, perMs, burst: 1, arrivalWithinMs }, maxInFlight };
}

function nonceOf(log: number): string {
  return log.toString(16).padStart(16, '0');
}

export function chain(lines: readonly LineBody[]): string {
  let prev: string | null = null;
  let text = '';
  for (const line of lines) {
    const sealed = sealLine(line, prev);
    text += `${sealed.text}\n`;
    prev = sealed.hash;
  }
  return text;
}

export function read(text: string): SendLogContents {
  const reader = new SendLogReader();
  const lines = text.split('\n');
  const tail = lines.pop() ?? '';
  for (const line of lines) reader.take(line);
  return reader.end(tail);
}

export function auditOf(simulation: Simulation, clockSkewMs = 0, offsets: Offsets = {}): AuditReport {
  return audit(writeLogs(simulation, offsets).map(read), { clockSkewMs });
}
