import type { ItemRecord } from '../client.ts';
import type { Evidence } from '../domain/evidence.ts';
import type { Order } from '../domain/orders.ts';
import { describeReceipt } from '../domain/receipt-text.ts';

/** All that is known of an item, for a person. */
export function describeItem(record: ItemRecord): string {
  const attempts = Object.entries(record.attempts).filter(([, count]) => count > 0);
  const lines: [string, string | null][] = [
    ['key', record.key],
    ['state', record.state],
    ['reason', record.reason],
    ['by', record.by],
    ['held', record.held && `by ${record.held.by}: ${record.held.reason}`],
    ['lane', record.partition === null ? record.lane : `${record.lane}/${record.partition}`],
    ['owner', record.owner],
    ['operation', record.operation],
    ['version', record.version === null ? null : String(record.version)],
    ['batch', `${record.batchId}, position ${record.position}`],
    ['publisher', record.publisher],
    ['correlation ID', record.correlationId],
    ['fingerprint', record.fingerprint],
    ['admitted', record.admittedAt],
    ['parked', record.parkedAt],
    ['ended', record.endedAt],
    ['next eligible', record.nextEligibleAt],
    ['sender', record.sender && `${record.sender.identity}, until ${record.sender.leaseUntil}`],
    ['round', record.round === 0 ? null : `${record.round}, each begun by a redrive`],
    ['attempts', attempts.map(([verdict, count]) => `${count} ${verdict}`).join(', ') || 'none'],
    ['lookups', record.lookups === 0 ? null : String(record.lookups)],
    ['unresolved', record.unresolved ? 'an attempt of it may have been applied' : null],
    ['budget left', record.budgetLeft === null ? 'no limit' : String(record.budgetLeft)],
    ['receipt', record.receipt && describeReceipt(record.receipt)],
    ...record.orders.map((order): [string, string] => [order.kind, describeOrder(order)]),
    ...record.trail.map((evidence): [string, string] => [
      `call ${evidence.attempt}`,
      describeEvidence(evidence),
    ]),
    ...record.late.map((evidence): [string, string] => ['late answer', describeEvidence(evidence)]),
  ];
  return lines
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${name.padEnd(15)}${text}`)
    .join('\n');
}

function describeOrder(order: Order): string {
  const { by, reason, atMs } = order;
  const risk = order.kind === 'redrive' && order.acceptRisk ? ', accepting the risk of doing it twice' : '';
  return `${new Date(atMs).toISOString()} by ${by}${risk}: ${reason}`;
}

function describeEvidence({ call, at, verdict, ended, retryAfter, body, holder }: Evidence): string {
  const asked = call === 'lookup' ? 'lookup, ' : '';
  const wait = retryAfter === null ? '' : `, Retry-After ${retryAfter}`;
  return `${at} ${asked}${ended} ${verdict}${wait}, by ${holder}${body === '' ? '' : `: ${body}`}`;
}
