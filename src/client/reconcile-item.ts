import type { Client } from '@temporalio/client';
import type { Delivery, Finding, LookupTask, Receipt } from '../domain/delivery.ts';
import type { ItemState } from '../domain/item.ts';
import { type Question, type Reconciled, compare } from '../domain/reconcile.ts';
import { ItemRefusedError, NotFoundError } from './errors.ts';
import { type ReadItem, isUnreadable, readItem } from './item-record.ts';
import { describeOrUndefined, itemStateOf } from './key-holder.ts';
import type { SettleAsked } from '../workflows/messages.ts';
import { operateItem } from './operate-item.ts';

/** An item that there is something to be asked about. */
export interface Subject {
  readonly key: string;
  readonly state: ItemState;
  readonly standing: Standing;
  /** null: its upstream can't be asked about it */
  readonly question: Question | null;
}
export interface Askable extends Subject {
  readonly question: Question;
}

export function isAskable(subject: Subject): subject is Askable {
  return subject.question !== null;
}

type Standing =
  | { readonly kind: 'uncertain'; readonly round: number }
  | { readonly kind: 'claim' }
  | { readonly kind: 'succeeded'; readonly receipt: Receipt };

/** Undefined where nothing is to be asked: it ended otherwise, or no call of it may have been applied. */
export async function subjectOf(client: Client, lane: string, key: string): Promise<Subject | undefined> {
  const description = await describeOrUndefined(client, key);
  if (description === undefined) return undefined;
  const item = await readItem(client, description).catch((error: unknown) => {
    if (isUnreadable(error)) return undefined;
    throw error;
  });
  if (item === undefined) return undefined;
  const standing = standingOf(item);
  if (standing === undefined) return undefined;
  const task = lookupOf(lane, item.delivery);
  const question = task && { task, notBeforeMs: notBeforeMs(item) };
  return { key, state: item.record.state, standing, question };
}

function standingOf({ record, attempts }: ReadItem): Standing | undefined {
  switch (record.state) {
    case 'uncertain':
      return { kind: 'uncertain', round: record.round };
    case 'succeeded':
      return record.receipt === null ? undefined : { kind: 'succeeded', receipt: record.receipt };
    case 'waiting':
    case 'sending':
    case 'retrying':
      return attempts.unresolved || attempts.sendingAttempt !== null ? { kind: 'claim' } : undefined;
    case 'dead':
    case 'discarded':
    case 'terminated':
      return undefined;
  }
}

function lookupOf(lane: string, { item, request, policy }: Delivery): LookupTask | null {
  if (request.lookupPath === null || policy.lookup === null) return null;
  return {
    lane,
    key: item.key,
    correlationId: item.correlationId ?? null,
    path: request.lookupPath,
    policy,
  };
}

/** That it is absent proves something only once no call can arrive any more. Others settle nothing by it. */
function notBeforeMs({ record, delivery }: ReadItem): number {
  return record.parkedAt === null ? 0 : Date.parse(record.parkedAt) + delivery.policy.timeoutMs;
}

/** What follows from a finding; settles it where it proves something of an uncertain item. */
export async function conclude(
  client: Client,
  { key, standing }: Subject,
  finding: Finding,
  by: string,
): Promise<Conclusion> {
  switch (standing.kind) {
    case 'succeeded':
      return compare(standing.receipt, finding);
    case 'claim':
      return { kind: 'claim', state: await stateOf(client, key), finding };
    case 'uncertain':
      if (finding.kind === 'noEvidence') return { kind: 'uncertain', why: finding.why };
      return await settle(client, key, {
        finding,
        round: standing.round,
        by,
        reason: 'reconciliation',
      });
  }
}

/** A `Reconciled` but for whose it is. */
type Conclusion = Reconciled extends infer R ? (R extends unknown ? Omit<R, 'key' | 'lane'> : never) : never;

async function settle(client: Client, key: string, asked: SettleAsked): Promise<Conclusion> {
  const { finding } = asked;
  try {
    const { state } = await operateItem.settle(client, key, asked);
    if (state === 'succeeded' && finding.kind === 'found') return { kind: 'settled', state };
    if (state === 'dead' && finding.kind === 'absent') return { kind: 'settled', state };
    if (state === 'uncertain')
      return { kind: 'uncertain', why: 'not there, but its last call may still have arrived; run it again' };
    return { kind: 'moved', why: `it is ${state} now` };
  } catch (error) {
    if (error instanceof ItemRefusedError || error instanceof NotFoundError)
      return { kind: 'moved', why: error.message };
    throw error;
  }
}

/** An item that its namespace has forgotten meanwhile was ended from outside. */
async function stateOf(client: Client, key: string): Promise<ItemState> {
  const description = await describeOrUndefined(client, key);
  return description === undefined ? 'terminated' : await itemStateOf(client, description);
}
