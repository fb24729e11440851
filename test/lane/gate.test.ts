import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { LaneReport } from '../../src/domain/lane-state.ts';
import type { CallEnd } from '../../src/domain/verdict.ts';
import type { Clock } from '../../src/lane/clock.ts';
import { UNSHARED } from '../../src/lane/cover.ts';
import { type Departure, Gate, GivenBack } from '../../src/lane/gate.ts';
import type { Turn } from '../../src/lane/turns.ts';
import { type LaneChanges, laneConfig } from '../support/lane.ts';

/** Stands still until the test moves it. */
class HandClock implements Clock {
  #nowMs = 0;
  readonly #sleepers = new Set<{ untilMs: number; wake: () => void }>();

  monotonicMs(): number {
    return this.#nowMs;
  }

  epochMs(): number {
    return Date.UTC(2026, 7, 12, 17) + this.#nowMs;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const sleeper = { untilMs: this.#nowMs + ms, wake: resolve };
      this.#sleepers.add(sleeper);
      signal.addEventListener('abort', () => {
        this.#sleepers.delete(sleeper);
        resolve();
      });
    });
  }

  /** Lets time pass, and whoever wakes by it run until it sleeps again. */
  async move(ms: number): Promise<void> {
    this.#nowMs += ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.untilMs > this.#nowMs) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
    await turn();
  }
}

const TIMEOUT_MS = 500;

/** A gate whose first window has passed. */
async function openGate(changes: LaneChanges = {}) {
  const clock = new HandClock();
  const limit = { requests: 100, perMs: 100, burst: 100, arrivalWithinMs: null };
  const config = laneConfig('releases', 'http://upstream', {
    limit,
    delivery: { timeoutMs: TIMEOUT_MS },
    ...changes,
  });
  const gate = new Gate({ config, clock, cover: UNSHARED });
  await clock.move(changes.limit?.perMs ?? limit.perMs);
  return { gate, clock };
}

type Waiting = { state: 'waiting' | 'entered' } | { state: 'given back'; because: string };

/** Waits at the gate, and can be looked at while it does. */
function wait(gate: Gate, signal = new AbortController().signal): () => Promise<Waiting> {
  let seen: Waiting = { state: 'waiting' };
  gate.enter(signal).then(
    () => (seen = { state: 'entered' }),
    (error: unknown) => {
      assert(error instanceof GivenBack, String(error));
      seen = { state: 'given back', because: error.message };
    },
  );
  return async () => {
    await turn();
    return seen;
  };
}

function departed(gate: Gate): Departure {
  const departure = gate.depart();
  assert(departure, 'the gate lets nothing leave');
  return departure;
}

const status = (code: number): CallEnd => ({
  kind: 'answered',
  status: code,
  headers: {},
  body: '',
  whole: true,
});

function throttled(retryAfterMs: number | null, probe = false): LaneReport {
  return { key: 'a', verdict: 'throttled', end: status(429), probe, retryAfterMs };
}

function succeeded(key: string, probe = false): LaneReport {
  return { key, verdict: 'succeeded', end: status(201), probe, retryAfterMs: null };
}

const UNAUTHORIZED: LaneReport = {
  key: 'a',
  verdict: 'laneFault',
  end: status(401),
  probe: false,
  retryAfterMs: null,
};

describe('the pace at the gate', () => {
  it('a new gate lets nothing leave for a whole window: somebody may have used it up just now', async () => {
    const clock = new HandClock();
    const limit = { requests: 5, perMs: 1_000, burst: 1, arrivalWithinMs: null };
    const config = laneConfig('releases', 'http://upstream', { limit });
    const gate = new Gate({ config, clock, cover: UNSHARED });
    const waiting = wait(gate);
    await clock.move(999);
    assert.deepEqual(await waiting(), { state: 'waiting' });
    assert.equal(gate.depart(), undefined);
    await clock.move(1);
    assert.deepEqual(await waiting(), { state: 'entered' });
    departed(gate);
  });

  it('a call counts from its answer on', async () => {
    const limit = { requests: 1, perMs: 1_000, burst: 1, arrivalWithinMs: null };
    const { gate, clock } = await openGate({ limit });
    const call = departed(gate);
    const waiting = wait(gate);
    await clock.move(300);
    call.answered();
    await clock.move(100);
    call.ended();
    await clock.move(899);
    assert.deepEqual(await waiting(), { state: 'waiting' });
    await clock.move(1);
    assert.deepEqual(await waiting(), { state: 'entered' });
  });

  it('a call that ended without an answer counts until its timeout', async () => {
    const limit = { requests: 1, perMs: 1_000, burst: 1, arrivalWithinMs: null };
    const { gate, clock } = await openGate({ limit });
    departed(gate).ended();
    await clock.move(TIMEOUT_MS + 999);
    assert.equal(gate.depart(), undefined);
    await clock.move(1);
    departed(gate);
  });

  it('knows how many calls are in flight', async () => {
    const { gate } = await openGate();
    const [one, two] = [departed(gate), departed(gate)];
    assert.equal(gate.inFlight, 2);
    one.answered();
    one.ended();
    assert.equal(gate.inFlight, 1);
    two.ended();
    assert.equal(gate.inFlight, 0);
  });
});

describe('a closed lane', () => {
  it('is waited out in the slot up to 5 s, and nothing leaves meanwhile', async () => {
    const { gate, clock } = await openGate();
    gate.report(throttled(5_000));
    const next = wait(gate);
    assert.equal(gate.worthPolling(), true);
    assert.equal(gate.closedForMs(), 5_000);
    await clock.move(4_999);
    assert.deepEqual(await next(), { state: 'waiting' });
    assert.equal(gate.depart(), undefined);
    await clock.move(1);
    assert.deepEqual(await next(), { state: 'entered' });
    assert.equal(gate.closedForMs(), 0);
  });

  it('gives back who waits when it is closed for more than 5 s, and whoever comes', async () => {
    const { gate, clock } = await openGate();
    gate.report(throttled(1_000));
    const waiting = wait(gate);
    assert.deepEqual(await waiting(), { state: 'waiting' });
    gate.report(throttled(5_001));
    const because = 'lane closed for 5001 ms';
    assert.deepEqual(await waiting(), { state: 'given back', because });
    assert.deepEqual(await wait(gate)(), { state: 'given back', because });
    assert.equal(gate.worthPolling(), false);
    await clock.move(1);
    assert.equal(gate.worthPolling(), true);
  });

  it('lets no call leave that entered before it was closed: depart looks again', async () => {
    const { gate, clock } = await openGate();
    assert.deepEqual(await wait(gate)(), { state: 'entered' });
    gate.report(throttled(2_000));
    assert.equal(gate.depart(), undefined);
    assert.equal(gate.inFlight, 0);
    await clock.move(2_000);
    departed(gate);
  });

  it('pauses itself for good by a laneFault, and says so to who waits', async () => {
    const { gate, clock } = await openGate();
    gate.report(throttled(1_000));
    const waiting = wait(gate);
    gate.report(UNAUTHORIZED);
    const because = "lane paused: 401 laneFault at a: the upstream does not accept the lane's credentials";
    assert.deepEqual(await waiting(), { state: 'given back', because });
    await clock.move(3_600_000);
    assert.equal(gate.worthPolling(), false);
    assert.equal(gate.depart(), undefined);
  });
});

describe('a probe', () => {
  it('goes alone after a closing, though three calls may be in flight; its success lets the others go', async () => {
    const { gate, clock } = await openGate({ maxInFlight: 3 });
    gate.report(throttled(2_000));
    await clock.move(2_000);
    const first = await entered(gate);
    const probe = departed(gate);
    assert.equal(probe.probe, true);
    assert.equal(gate.depart(), undefined);
    const others = [wait(gate), wait(gate)];
    await clock.move(400);
    for (const other of others) assert.deepEqual(await other(), { state: 'waiting' });

    probe.answered();
    for (const other of others) assert.deepEqual(await other(), { state: 'waiting' });
    gate.report(succeeded('a', true));
    probe.ended();
    first.end();
    for (const other of others) assert.deepEqual(await other(), { state: 'entered' });
    assert.deepEqual([departed(gate).probe, departed(gate).probe], [false, false]);
  });

  it('waits for the calls that left before the closing', async () => {
    const { gate, clock } = await openGate({ maxInFlight: 3 });
    const before = departed(gate);
    gate.report(throttled(2_000));
    const waiting = wait(gate);
    await clock.move(2_000);
    assert.deepEqual(await waiting(), { state: 'waiting' });
    gate.report(succeeded('b'));
    before.ended();
    assert.deepEqual(await waiting(), { state: 'entered' });
    assert.equal(departed(gate).probe, true);
  });

  it('that fails keeps the others back', async () => {
    const { gate, clock } = await openGate({ maxInFlight: 3 });
    gate.report(throttled(1_000));
    await clock.move(1_000);
    const probe = departed(gate);
    const waiting = wait(gate);
    gate.report(throttled(null, true));
    probe.ended();
    await clock.move(999);
    assert.deepEqual(await waiting(), { state: 'waiting' });
    await clock.move(1);
    assert.deepEqual(await waiting(), { state: 'entered' });
    assert.equal(departed(gate).probe, true);
  });
});

describe('a hold, which RateLimit headers ask for', () => {
  it('keeps calls back, is never shortened, and is followed by no probe', async () => {
    const { gate, clock } = await openGate();
    gate.hold(3_000);
    gate.hold(1_000);
    assert.equal(gate.closedForMs(), 3_000);
    await clock.move(2_999);
    assert.equal(gate.depart(), undefined);
    await clock.move(1);
    assert.equal(departed(gate).probe, false);
  });

  it('of more than 5 s gives back who waits', async () => {
    const { gate } = await openGate();
    gate.hold(1_000);
    const waiting = wait(gate);
    gate.hold(6_000);
    assert.deepEqual(await waiting(), { state: 'given back', because: 'lane closed for 6000 ms' });
  });
});

/** Enters when nobody is in the way. */
async function entered(gate: Gate): Promise<Turn> {
  return await gate.enter(new AbortController().signal);
}

describe('turns', () => {
  const open = { limit: { requests: 100, perMs: 1_000, burst: 100, arrivalWithinMs: null } };

  it('as many items have one as calls may be open; the others follow in the order in which they came', async () => {
    const { gate } = await openGate({ ...open, maxInFlight: 2 });
    const [first, second] = [await entered(gate), await entered(gate)];
    const [third, fourth] = [wait(gate), wait(gate)];
    assert.deepEqual([(await third()).state, (await fourth()).state], ['waiting', 'waiting']);
    second.end();
    assert.deepEqual([(await third()).state, (await fourth()).state], ['entered', 'waiting']);
    first.end();
    assert.equal((await fourth()).state, 'entered');
  });

  it('one lasts until what its call taught is stored, though the call has ended', async () => {
    const { gate } = await openGate(open);
    const first = await entered(gate);
    const call = departed(gate);
    call.answered();
    call.ended();
    const next = wait(gate);
    assert.equal((await next()).state, 'waiting');
    first.end();
    assert.equal((await next()).state, 'entered');
  });

  it('a lane that probes has one, however many calls may be open: connections are not tried side by side', async () => {
    const { gate, clock } = await openGate({ ...open, maxInFlight: 3 });
    gate.report(throttled(1_000));
    await clock.move(1_000);
    const probe = await entered(gate);
    const others = [wait(gate), wait(gate)];
    assert.deepEqual(await Promise.all(others.map(async (seen) => (await seen()).state)), [
      'waiting',
      'waiting',
    ]);
    gate.report(succeeded('a', true));
    probe.end();
    assert.deepEqual(await Promise.all(others.map(async (seen) => (await seen()).state)), [
      'entered',
      'entered',
    ]);
  });

  it('who stops waiting holds up nobody', async () => {
    const { gate } = await openGate(open);
    const first = await entered(gate);
    const cancel = new AbortController();
    const second = gate.enter(cancel.signal);
    const third = wait(gate);
    cancel.abort(new Error('cancelled'));
    await assert.rejects(second, { message: 'cancelled' });
    assert.equal((await third()).state, 'waiting');
    first.end();
    assert.equal((await third()).state, 'entered');
  });
});

describe('stopping', () => {
  it('gives back who waits, lets nothing leave any more, and keeps its first reason', async () => {
    const { gate, clock } = await openGate();
    gate.report(throttled(1_000));
    const waiting = wait(gate);
    gate.stop('the worker stops');
    gate.stop('again');
    assert.deepEqual(await waiting(), { state: 'given back', because: 'the worker stops' });
    await clock.move(10_000);
    assert.equal(gate.depart(), undefined);
    assert.equal(gate.worthPolling(), false);
    assert.deepEqual(await wait(gate)(), { state: 'given back', because: 'the worker stops' });
  });

  it('an item that is cancelled while it waits leaves the gate by its own reason', async () => {
    const { gate } = await openGate();
    gate.report(throttled(1_000));
    const cancel = new AbortController();
    const entering = gate.enter(cancel.signal);
    cancel.abort(new Error('cancelled'));
    await assert.rejects(entering, { message: 'cancelled' });
  });
});

describe('who watches the gate', () => {
  it('hears of every change', async () => {
    const { gate } = await openGate();
    const call = departed(gate);
    for (const change of [
      () => gate.report(succeeded('a')),
      () => call.answered(),
      () => call.ended(),
      () => gate.hold(1),
      () => gate.stop('because'),
    ]) {
      const heard = gate.nextChange();
      change();
      await heard;
    }
  });

  it('hears of it when a closure has become short enough to be waited out, and not before', async () => {
    const { gate, clock } = await openGate();
    gate.report(throttled(60_000));
    let heard = false;
    const change = gate.nextChange().then(() => (heard = true));
    await clock.move(54_999);
    assert.equal(heard, false);
    await clock.move(1);
    assert.equal(heard, true);
    assert.equal(gate.worthPolling(), true);
    await change;
  });

  it('is told whether another key has succeeded since', async () => {
    const { gate, clock } = await openGate();
    const since = clock.epochMs();
    assert.equal(gate.othersSucceededSince(since, 'a'), false);
    await clock.move(1);
    gate.report(succeeded('b'));
    assert.equal(gate.othersSucceededSince(since, 'a'), true);
    assert.equal(gate.othersSucceededSince(since, 'b'), false);
    assert.equal(gate.othersSucceededSince(clock.epochMs(), 'a'), false);
  });
});
