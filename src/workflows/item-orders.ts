import { ApplicationFailure, condition } from '@temporalio/workflow';
import { FindingSchema } from '../domain/delivery.ts';
import { describeItemEnd, isEndedBy } from '../domain/item-end.ts';
import type { ItemAnswer } from '../domain/orders.ts';
import { riskOfRedrive } from '../domain/redrive.ts';
import { judgeClaim } from '../domain/resolve.ts';
import type { ItemLedger } from './item-ledger.ts';
import { lookUpItem } from './look-up-item.ts';
import type { RedriveAsked, ResolveAsked, SettleAsked } from './messages.ts';
import { type Named, checkNamed } from './named.ts';

/** What somebody has done to an item. */
export interface Order<Asked> {
  /** Throws why it is not done. Asked when it comes, so that a refused order leaves no trace, and again at its turn. */
  readonly check: (item: ItemLedger, asked: Asked) => void;
  readonly act: (item: ItemLedger, asked: Asked) => void | Promise<void>;
}

export const redrive: Order<RedriveAsked> = {
  check(item, asked) {
    checkNamed(asked, 'ItemRefused');
    if (isRedrivenBy(item, asked)) return;
    expectParked(item, 'redriven');
    const { policy, request } = item.delivery;
    const risk = riskOfRedrive(item.attempts, { policy, lookupPath: request.lookupPath }, Date.now());
    if (risk !== undefined && asked.acceptRisk !== true)
      throw refused(
        item,
        `${risk}. See whether it was, then resolve or discard it; or redrive it with acceptRisk (--accept-risk)`,
      );
  },
  act(item, asked) {
    if (isRedrivenBy(item, asked)) return;
    const { by, reason, acceptRisk = false } = asked;
    item.note({ kind: 'redrive', by, reason, atMs: Date.now(), acceptRisk });
    item.redrive(acceptRisk, Date.now());
  },
};

export const discard: Order<Named> = {
  check(item, asked) {
    checkNamed(asked, 'ItemRefused');
    if (!endedBy('discard', asked, item)) expectOpen(item);
  },
  async act(item, asked) {
    if (endedBy('discard', asked, item)) return;
    if ((await stopCall(item, { mayWait: false })) === 'sending')
      throw refused(item, 'it is being sent; it can be discarded when its call has ended without success');
    // Its call may have ended by itself meanwhile.
    expectOpen(item);
    const { by, reason } = asked;
    item.note({ kind: 'discard', by, reason, atMs: Date.now() });
    item.discard(asked, Date.now());
  },
};

export const resolve: Order<ResolveAsked> = {
  check(item, asked) {
    checkNamed(asked, 'ItemRefused');
    const upstreamId: unknown = asked.receipt?.upstreamId;
    if (
      upstreamId !== null &&
      (typeof upstreamId !== 'string' || upstreamId === '' || upstreamId.length > 255)
    )
      throw refused(item, 'receipt.upstreamId: expected a text of 1 to 255 characters, or null for none');
    if (!endedBy('resolve', asked, item)) expectParked(item, 'resolved');
  },
  async act(item, { by, reason, receipt: { upstreamId } }) {
    if (endedBy('resolve', { by, reason }, item)) return;
    const finding = await lookUpItem(item.delivery);
    const at = new Date(Date.now()).toISOString();
    const judged = judgeClaim({ by, reason, upstreamId, at, attempt: item.attemptsMade }, finding);
    if (judged.kind === 'contradicted') throw refused(item, judged.why);
    const { receipt } = judged;
    item.note({ kind: 'resolve', by, reason, atMs: Date.now(), receipt });
    item.succeed(receipt);
  },
};

/** Its batch is paused: what is not in the slot is taken back, and a call in flight ends as what it becomes. */
export const hold: Order<Named> = {
  check(item, asked) {
    checkNamed(asked, 'ItemRefused');
    expectOpen(item);
  },
  async act(item, { by, reason }) {
    if (item.held !== null) return;
    item.held = { by, reason };
    item.note({ kind: 'hold', by, reason, atMs: Date.now() });
    await stopCall(item, { mayWait: true });
  },
};

export const release: Order<Named> = {
  check(item, asked) {
    checkNamed(asked, 'ItemRefused');
    expectOpen(item);
  },
  act(item, { by, reason }) {
    if (item.held === null) return;
    item.held = null;
    item.note({ kind: 'release', by, reason, atMs: Date.now() });
  },
};

/** A reconciliation asked the upstream. What it found of an item that has moved on is passed over. */
export const settle: Order<SettleAsked> = {
  check(item, asked) {
    checkNamed(asked, 'ItemRefused');
    const parsed = FindingSchema.safeParse(asked.finding);
    if (!parsed.success) throw refused(item, `finding: ${parsed.error.message}`);
  },
  act(item, { by, reason: why, finding, round }) {
    if (item.end !== null || item.round !== round || item.parked?.state !== 'uncertain') return;
    const order = { kind: 'reconcile', by, reason: why, atMs: Date.now(), finding } as const;
    switch (finding.kind) {
      case 'found':
        item.note(order);
        return item.succeed(finding.receipt);
      case 'absent': {
        // A call that was given up may arrive until its timeout has passed; before, that it is not there proves nothing.
        const { timeoutMs } = item.delivery.policy;
        if (Date.parse(finding.at) < (item.parkedAtMs ?? Infinity) + timeoutMs) return;
        const reason = `a lookup found that it was not done (${finding.status}); redrive it to send it`;
        item.note(order);
        return item.surelyNotApplied(reason);
      }
      case 'noEvidence':
        return;
    }
  },
};

/** Cancelled from outside: discarded, once nothing of it is in flight, by whoever asked for it. */
export async function discardCancelled(item: ItemLedger, asked: Named): Promise<void> {
  await stopCall(item, { mayWait: true });
  if (item.end !== null) return;
  item.note({ kind: 'discard', ...asked, atMs: Date.now() });
  item.discard(asked, Date.now());
}

/** Resolves when no call of the item is under way any more, however it ended, or says that it is being sent. */
async function stopCall(item: ItemLedger, how: { mayWait: boolean }): Promise<'stopped' | 'sending'> {
  if (item.call === null) return 'stopped';
  if ((await item.call.takeBack(how)) === 'sending') return 'sending';
  await condition(() => item.call === null);
  return 'stopped';
}

function expectOpen(item: ItemLedger): void {
  if (item.end !== null) throw refused(item, describeItemEnd(item.end));
}

function expectParked(item: ItemLedger, toBe: string): void {
  expectOpen(item);
  if (item.parked === null) throw refused(item, `only a parked item can be ${toBe}, and it is not parked`);
}

/** The very order that brought it into its present round. */
function isRedrivenBy({ round, parked, end, orders }: ItemLedger, { by, reason }: Named): boolean {
  if (round === 0 || parked !== null || end !== null) return false;
  const newest = orders.findLast(({ kind }) => kind === 'redrive');
  return newest?.by === by && newest.reason === reason;
}

function endedBy(kind: 'discard' | 'resolve', asked: Named, { end }: ItemLedger): boolean {
  return end !== null && isEndedBy(end, kind, asked);
}

function refused(item: ItemLedger, message: string): ApplicationFailure {
  const details: [ItemAnswer] = [item.answer()];
  return ApplicationFailure.create({ type: 'ItemRefused', message, nonRetryable: true, details });
}
