import type { Receipt } from './delivery.ts';

/** A receipt, for a person: what the upstream said, or who found the work done, and when. */
export function describeReceipt(receipt: Receipt): string {
  const { status, upstreamId, replayed, foundBy, at, attempt, by, reason } = receipt;
  const said = [status === null ? '' : `status ${status}`, upstreamId ?? '', replayed ? 'replayed' : ''];
  const told = said.filter((part) => part !== '').join(', ');
  switch (foundBy) {
    case 'answer':
      return `${told}, by call ${attempt} at ${at}`;
    case 'lookup':
      return `${told}, found by a lookup after call ${attempt} at ${at}`;
    case 'operator':
      return `${told === '' ? '' : `${told}, `}found done by ${by} at ${at}: ${reason}`;
  }
}
