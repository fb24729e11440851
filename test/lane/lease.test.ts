import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ActivityCancelledError, ActivityNotFoundError } from '@temporalio/client';
import * as fc from 'fast-check';
import { Lease } from '../../src/lane/lease.ts';
import { HandClock } from '../support/hand-clock.ts';

const LEASE_MS = 6_000;
const TIMEOUT_MS = 2_000;
/** 100 ms and 1 % of the lease */
const MARGIN_MS = 160;
/** How old a confirmation may be so that a call of TIMEOUT_MS still ends within the lease. */
const YOUNG_MS = LEASE_MS - TIMEOUT_MS - MARGIN_MS;

/** A server whose answers to beats the test gives, or withholds. */
class Server {
  readonly #clock: HandClock;
  /** moments at which it was asked */
  readonly asked: number[] = [];
  answer: () => Promise<void> = () => Promise.resolve();

  constructor(clock: HandClock) {
    this.#clock = clock;
  }

  beat(): Promise<void> {
    this.asked.push(this.#clock.monotonicMs());
    return this.answer();
  }
}

const CUT_OFF = () => Promise.reject(new Error('14 UNAVAILABLE'));
const SILENT = () => new Promise<never>(() => undefined);

function leaseOn(clock: HandClock, everyMs = 500) {
  const server = new Server(clock);
  const lease = new Lease({ beat: () => server.beat(), leaseMs: LEASE_MS, clock, everyMs: () => everyMs });
  return { server, lease };
}

async function confirmed(everyMs?: number) {
  const clock = new HandClock();
  const { server, lease } = leaseOn(clock, everyMs);
  await lease.confirm();
  return { clock, server, lease };
}

/** Keeps it while the test runs, and lets the loop end afterwards. */
async function keeping(lease: Lease, test: () => Promise<void>): Promise<void> {
  const over = new AbortController();
  const kept = lease.keep(over.signal);
  try {
    await turn();
    await test();
  } finally {
    over.abort();
    await kept;
  }
}

describe('what a lease covers', () => {
  it('nothing before the server has confirmed it', async () => {
    const clock = new HandClock();
    const { lease } = leaseOn(clock);
    assert.equal(lease.covers(0), false);
    await lease.confirm();
    assert.equal(lease.covers(TIMEOUT_MS), true);
  });

  it('a call whose timeout ends before the lease could, and none a millisecond later', async () => {
    const { clock, lease } = await confirmed();
    await clock.pass(YOUNG_MS - 1);
    assert.equal(lease.covers(TIMEOUT_MS), true);
    await clock.pass(1);
    assert.equal(lease.covers(TIMEOUT_MS), false);
  });

  it('is counted from when it was asked for, not from when it was answered', async () => {
    const { clock, server, lease } = await confirmed();
    await clock.pass(YOUNG_MS - 1);
    server.answer = () => clock.sleep(1_000, new AbortController().signal);
    const confirming = lease.confirm();
    await clock.pass(1_000);
    await confirming;
    await clock.pass(YOUNG_MS - 1_001);
    assert.equal(lease.covers(TIMEOUT_MS), true);
    await clock.pass(1);
    assert.equal(lease.covers(TIMEOUT_MS), false);
  });

  it('no beat that failed', async () => {
    const { clock, server, lease } = await confirmed();
    await clock.pass(YOUNG_MS);
    server.answer = CUT_OFF;
    await lease.confirm();
    assert.equal(lease.covers(TIMEOUT_MS), false);
  });

  it('never a call that could outlive what the server has heard, whatever becomes of its beats', async () => {
    const end = fc.oneof(
      fc.constant({ kind: 'failed' as const }),
      fc.constant({ kind: 'silent' as const }),
      fc.record({
        kind: fc.constant('answered' as const),
        heardAfterMs: fc.nat(700),
        answeredAfterMs: fc.nat(700),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ waitMs: fc.nat(3_000), end }), { maxLength: 8 }),
        async (beats) => {
          const clock = new HandClock();
          const { server, lease } = leaseOn(clock);
          let heardMs = -Infinity;
          let heardNextMs = -Infinity;
          const uncovered = () => {
            if (clock.monotonicMs() >= heardNextMs) heardMs = Math.max(heardMs, heardNextMs);
            if (lease.covers(TIMEOUT_MS)) assert(clock.monotonicMs() + TIMEOUT_MS < heardMs + LEASE_MS);
          };
          for (const beat of beats) {
            for (let i = 0; i < beat.waitMs; i += 100) {
              await clock.pass(100);
              uncovered();
            }
            const { end: how } = beat;
            if (how.kind === 'answered') heardNextMs = clock.monotonicMs() + how.heardAfterMs;
            server.answer =
              how.kind === 'answered'
                ? () => clock.sleep(how.heardAfterMs + how.answeredAfterMs, new AbortController().signal)
                : how.kind === 'failed'
                  ? CUT_OFF
                  : SILENT;
            const confirming = lease.confirm();
            await clock.pass(1_600);
            await confirming;
            uncovered();
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('a lease that is kept', () => {
  it('is confirmed as often as it is told, and sooner after a beat that failed', async () => {
    const { clock, server, lease } = await confirmed(2_000);
    server.asked.length = 0;
    await keeping(lease, async () => {
      await clock.pass(4_000);
      assert.deepEqual(server.asked, [1_000, 3_000, 5_000]);
      server.answer = CUT_OFF;
      await clock.pass(2_000);
      server.answer = () => Promise.resolve();
      await clock.pass(300);
      assert.deepEqual(server.asked.slice(3), [7_000, 7_300]);
    });
  });

  it('unconfirmed for a whole lease, is lost for good: no beat more, whatever the server would say', async () => {
    const { clock, server, lease } = await confirmed();
    await keeping(lease, async () => {
      server.answer = CUT_OFF;
      await clock.pass(LEASE_MS - 1);
      assert.equal(lease.lost.aborted, false);
      await clock.pass(LEASE_MS / 20 + 1);
      assert.equal(lease.lost.aborted, true);
      assert.equal(lease.lostBecause, 'unconfirmed for a whole lease');
      const beats = server.asked.length;
      server.answer = () => Promise.resolve();
      await clock.pass(2 * LEASE_MS);
      await lease.confirm();
      assert.equal(server.asked.length, beats);
      assert.equal(lease.covers(0), false);
      assert.equal(await lease.confirmedFromNow(), false);
    });
  });

  it('is lost as well when the server only keeps silent, though the wall clock is set back meanwhile', async () => {
    const { clock, server, lease } = await confirmed();
    await keeping(lease, async () => {
      server.answer = SILENT;
      await clock.pass(600);
      clock.stepWall(-3_600_000);
      await clock.pass(2 * LEASE_MS);
      assert.equal(lease.lost.aborted, true);
    });
  });

  it('never confirmed at all, is lost a lease after it began', async () => {
    const clock = new HandClock();
    const { server, lease } = leaseOn(clock);
    server.answer = CUT_OFF;
    await keeping(lease, async () => {
      await clock.pass(LEASE_MS + LEASE_MS / 20);
      assert.equal(lease.lost.aborted, true);
    });
  });

  it('is lost at once when the server no longer knows it', async () => {
    const { server, lease } = await confirmed();
    server.answer = () => Promise.reject(new ActivityNotFoundError('gone'));
    await lease.confirm();
    assert.equal(lease.lost.aborted, true);
    assert.equal(lease.lostBecause, 'the server no longer knows it');
    assert.equal(lease.covers(0), false);
  });

  it('that is wanted back stands until it is given back', async () => {
    const { clock, server, lease } = await confirmed();
    await clock.pass(YOUNG_MS);
    server.answer = () => Promise.reject(new ActivityCancelledError('cancelled'));
    await lease.confirm();
    assert.equal(lease.wantedBack.aborted, true);
    assert.equal(lease.lost.aborted, false);
    assert.equal(lease.covers(TIMEOUT_MS), true);
  });
});

describe('clocks', () => {
  for (const [what, hours] of [
    ['forward', 1],
    ['back', -1],
  ] as const)
    it(`a wall clock that is set an hour ${what} costs one confirmation, and loses no lease`, async () => {
      const { clock, server, lease } = await confirmed();
      await clock.pass(100);
      clock.stepWall(hours * 3_600_000);
      assert.equal(lease.covers(TIMEOUT_MS), false);
      await lease.confirm();
      assert.equal(server.asked.length, 2);
      assert.equal(lease.covers(TIMEOUT_MS), true);
      await clock.pass(YOUNG_MS - 1);
      assert.equal(lease.covers(TIMEOUT_MS), true);
      assert.equal(lease.lost.aborted, false);
    });

  it('a machine that was suspended asks before it calls, and hears that the lease is gone', async () => {
    const { clock, server, lease } = await confirmed();
    clock.suspend(2 * LEASE_MS);
    assert.equal(lease.covers(TIMEOUT_MS), false);
    server.answer = () => Promise.reject(new ActivityNotFoundError('gone'));
    await lease.confirm();
    assert.equal(lease.lost.aborted, true);
  });
});

describe('a confirmation', () => {
  it('is shared by all who ask while one is on its way', async () => {
    const { clock, server, lease } = await confirmed();
    server.answer = () => clock.sleep(100, new AbortController().signal);
    const all = Promise.all([lease.confirm(), lease.confirm(), lease.confirm()]);
    await clock.pass(100);
    await all;
    assert.equal(server.asked.length, 2);
  });

  it('from now on is one that was asked for from now on', async () => {
    const { clock, server, lease } = await confirmed();
    server.answer = () => clock.sleep(100, new AbortController().signal);
    void lease.confirm();
    await clock.pass(50);
    let told = false;
    const telling = lease.confirmedFromNow().then((heard) => (told = heard));
    await clock.pass(50);
    assert.equal(told, false, 'the beat on its way was asked for before');
    await clock.pass(LEASE_MS / 20 + 100);
    assert.equal(told, true);
    await telling;
    assert.equal(server.asked.length, 3);
  });
});
