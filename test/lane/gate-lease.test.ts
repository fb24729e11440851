import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { LaneView, LastHold } from '../../src/domain/lane-record.ts';
import type { LaneReport } from '../../src/domain/lane-state.ts';
import { type Cover, UNSHARED } from '../../src/lane/cover.ts';
import { type Departure, Gate, GivenBack } from '../../src/lane/gate.ts';
import { HandClock } from '../support/hand-clock.ts';
import { type LaneChanges, laneConfig } from '../support/lane.ts';

const TIMEOUT_MS = 500;
const LIMIT = { requests: 10, perMs: 1_000, burst: 1, arrivalWithinMs: null };

const VIEW: LaneView = {
  version: 1,
  pausedBecause: null,
  resumed: 0,
  closedForMs: 0,
  closedBecause: '',
  probing: false,
  backoffMs: 0,
  requests: null,
  maxInFlight: null,
};

const UNAUTHORIZED: LaneReport = {
  key: 'a',
  verdict: 'laneFault',
  end: { kind: 'answered', status: 401, headers: {}, body: '', whole: true },
  probe: false,
  retryAfterMs: null,
};

/** A lease that covers, or comes to cover, as the test says. */
class TestCover implements Cover {
  covering = true;
  confirmed = 0;
  onConfirm: () => void = () => undefined;

  covers(): boolean {
    return this.covering;
  }

  confirm(): Promise<void> {
    this.confirmed++;
    this.onConfirm();
    return Promise.resolve();
  }
}

interface Setting {
  readonly cover?: Cover;
  readonly view?: LaneView;
  readonly last?: LastHold;
  readonly changes?: LaneChanges;
}

/** The holder before gave a lane back that had been quiet for long. */
const QUIET: LastHold = {
  kind: 'handedOver',
  window: { ages: [], requests: 10, perMs: 1_000, burst: 1, timeoutMs: TIMEOUT_MS },
};

function gateWith({ cover = UNSHARED, view = VIEW, last = QUIET, changes = {} }: Setting = {}) {
  const clock = new HandClock();
  const config = laneConfig('releases', 'http://upstream', {
    limit: LIMIT,
    delivery: { timeoutMs: TIMEOUT_MS },
    ...changes,
  });
  return { gate: new Gate({ config, clock, cover }, view, last), clock };
}

function departed(gate: Gate): Departure {
  const departure = gate.depart();
  assert(departure, 'the gate lets nothing leave');
  return departure;
}

/** Enters, and says how it went so far. */
function entering(gate: Gate): () => Promise<string> {
  let seen = 'waiting';
  gate.enter(new AbortController().signal).then(
    () => (seen = 'entered'),
    (error: unknown) => {
      assert(error instanceof GivenBack, String(error));
      seen = error.message;
    },
  );
  return async () => {
    await turn();
    return seen;
  };
}

describe('a gate under a lease', () => {
  it('lets nothing leave that the lease does not cover, though it covered it when it entered', async () => {
    const cover = new TestCover();
    const { gate } = gateWith({ cover });
    assert.equal(await entering(gate)(), 'entered');
    cover.covering = false;
    assert.equal(gate.depart(), undefined);
    assert.equal(gate.inFlight, 0);
  });

  it('asks for a confirmation first when the last one has grown old', async () => {
    const cover = new TestCover();
    cover.covering = false;
    cover.onConfirm = () => (cover.covering = true);
    const { gate } = gateWith({ cover });
    assert.equal(await entering(gate)(), 'entered');
    assert.equal(cover.confirmed, 1);
  });

  it('asks again and again while the server does not answer, without spinning, and goes back when it stops', async () => {
    const cover = new TestCover();
    cover.covering = false;
    const { gate, clock } = gateWith({ cover });
    const seen = entering(gate);
    assert.equal(await seen(), 'waiting');
    await clock.pass(1_000);
    assert.equal(await seen(), 'waiting');
    assert(cover.confirmed >= 5 && cover.confirmed <= 11, `${cover.confirmed}`);
    gate.stop('the lease was lost');
    assert.equal(await seen(), 'the lease was lost');
  });

  it('asks for none while the pace keeps the call back anyway', async () => {
    const cover = new TestCover();
    cover.covering = false;
    const { gate, clock } = gateWith({ cover, last: { kind: 'unknown' } });
    assert.equal(await entering(gate)(), 'waiting');
    await clock.pass(999);
    assert.equal(cover.confirmed, 0);
  });
});

describe('how the hold before ended', () => {
  const window = {
    ages: [[400, 10]] as [number, number][],
    requests: 10,
    perMs: 1_000,
    burst: 1,
    timeoutMs: 500,
  };
  for (const [last, firstMs] of [
    // A second is waited out, although nobody is known to have called.
    [{ kind: 'none' }, 1_000],
    [{ kind: 'unknown' }, 1_000],
    [{ kind: 'handedOver', window }, 600],
    // Its newest call may have arrived just now; three more may have left at once before it, at 10/s.
    [{ kind: 'lost', window, leaseMs: 6_000 }, 300],
  ] as [LastHold, number][])
    it(`${last.kind}: the first call leaves after ${firstMs} ms`, async () => {
      const { gate, clock } = gateWith({ last });
      await clock.pass(Math.max(0, firstMs - 1));
      assert.equal(gate.depart(), undefined);
      await clock.pass(1);
      departed(gate);
    });

  it('none, with a window of an hour: the first call leaves at once', () => {
    const { gate } = gateWith({ last: { kind: 'none' }, changes: { limit: { ...LIMIT, perMs: 3_600_000 } } });
    departed(gate);
  });

  it('unknown under an override: a full window of the overridden limit', async () => {
    const { gate, clock } = gateWith({ last: { kind: 'unknown' }, view: { ...VIEW, requests: 20 } });
    await clock.pass(999);
    assert.equal(gate.depart(), undefined);
  });

  it('closed: it waits as long as is left, and probes', async () => {
    const { gate, clock } = gateWith({ view: { ...VIEW, closedForMs: 3_000, closedBecause: '429' } });
    await clock.pass(2_999);
    assert.equal(gate.depart(), undefined);
    await clock.pass(1);
    assert.equal(departed(gate).probe, true);
  });

  it('lost: its first call goes alone', () => {
    const { gate } = gateWith({ view: { ...VIEW, probing: true }, changes: { maxInFlight: 3 } });
    assert.equal(departed(gate).probe, true);
    assert.equal(gate.depart(), undefined);
  });
});

describe('a view of the lane', () => {
  it('that is older never undoes a newer one', () => {
    const { gate } = gateWith();
    const paused = { ...VIEW, version: 3, pausedBecause: 'by ada' };
    gate.apply(paused);
    gate.apply({ ...VIEW, version: 2 });
    assert.equal(gate.pausedBecause, 'by ada');
    assert.equal(gate.depart(), undefined);
    gate.apply({ ...VIEW, version: 4 });
    assert.equal(gate.pausedBecause, null);
  });

  it('only with a resume lifts a pause that the lane gave itself, and starts its counters again', () => {
    const { gate } = gateWith();
    gate.report(UNAUTHORIZED);
    gate.apply({ ...VIEW, version: 2 });
    assert.match(gate.pausedBecause ?? '', /401/);
    gate.apply({ ...VIEW, version: 3, resumed: 1 });
    assert.equal(gate.pausedBecause, null);
    assert.equal(gate.resumed, 1);
    departed(gate);
  });

  it('with a resume keeps the lane closed that long, and probes then', async () => {
    const { gate, clock } = gateWith();
    gate.report({ ...UNAUTHORIZED, verdict: 'throttled', retryAfterMs: 2_000 });
    gate.apply({ ...VIEW, version: 2, resumed: 1 });
    await clock.pass(1_999);
    assert.equal(gate.depart(), undefined);
    await clock.pass(1);
    assert.equal(departed(gate).probe, true);
  });

  it('closes the lane at once, and never opens it sooner', async () => {
    const { gate, clock } = gateWith();
    gate.apply({ ...VIEW, version: 2, closedForMs: 3_000 });
    gate.apply({ ...VIEW, version: 3, closedForMs: 1_000 });
    gate.apply({ ...VIEW, version: 4 });
    await clock.pass(2_999);
    assert.equal(gate.depart(), undefined);
    await clock.pass(1);
    departed(gate);
  });

  it('gives back who waits when it pauses the lane', async () => {
    const { gate } = gateWith({ last: { kind: 'unknown' } });
    const seen = entering(gate);
    gate.apply({ ...VIEW, version: 2, pausedBecause: 'maintenance (by ada)' });
    assert.equal(await seen(), 'lane paused: maintenance (by ada)');
    assert.equal(gate.worthPolling(), false);
  });
});

describe('a limit that is changed', () => {
  const raised = { ...VIEW, version: 2, requests: 20, maxInFlight: 2 };

  it('is told in each report from the view on, with the burst that comes with it, and used only when it was told', () => {
    const config = { limit: { ...LIMIT, burst: 8 } };
    const { gate } = gateWith({ view: { ...VIEW, requests: 2 }, changes: config });
    assert.deepEqual([gate.limit.requests, gate.limit.burst], [2, 2]);
    gate.apply(raised);
    assert.deepEqual([gate.limit.requests, gate.maxInFlight], [2, 1]);
    const { window } = gate.holdReport();
    assert.deepEqual([window.requests, window.burst], [20, 8]);
    gate.changeLimit(raised);
    assert.deepEqual([gate.limit.requests, gate.limit.burst, gate.maxInFlight], [20, 8, 2]);
  });

  it('goes on being reported while it is in use, though a lower one was asked for', () => {
    const { gate } = gateWith({ view: { ...VIEW, requests: 20 } });
    const lower = { ...VIEW, version: 2, requests: 5 };
    gate.apply(lower);
    assert.equal(gate.holdReport().window.requests, 20);
    gate.changeLimit(lower);
    assert.equal(gate.holdReport().window.requests, 5);
  });

  it('is the newest one, in whichever order two changes come through', () => {
    const { gate } = gateWith();
    const lower = { ...VIEW, version: 3, requests: 5 };
    gate.apply(raised);
    gate.apply(lower);
    gate.changeLimit(raised);
    assert.equal(gate.limit.requests, 10);
    gate.changeLimit(lower);
    gate.changeLimit(raised);
    assert.equal(gate.limit.requests, 5);
  });

  it('never allows more calls at once than requests', () => {
    const { gate } = gateWith({ changes: { maxInFlight: 3 }, view: { ...VIEW, requests: 2 } });
    assert.equal(gate.maxInFlight, 2);
  });
});

describe('quiet', () => {
  it('waits for the calls that are open, and not for those that leave later', async () => {
    const { gate, clock } = gateWith({ changes: { maxInFlight: 3 } });
    const early = departed(gate);
    let quiet = false;
    const done = gate.quiet(new AbortController().signal).then(() => (quiet = true));
    await clock.pass(100);
    const later = departed(gate);
    await clock.pass(100);
    assert.equal(quiet, false);
    early.ended();
    await turn();
    assert.equal(quiet, true);
    await done;
    later.ended();
  });

  it('waits no longer than the lease', async () => {
    const { gate } = gateWith();
    departed(gate);
    const lost = new AbortController();
    const done = gate.quiet(lost.signal);
    lost.abort();
    await done;
  });
});
