import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { realClock } from '../../src/lane/clock.ts';

const never = new AbortController().signal;

describe('the real clock', () => {
  it('sleeps as long as it was told', async () => {
    const from = realClock.monotonicMs();
    await realClock.sleep(30, never);
    // Timers go by whole milliseconds.
    assert(realClock.monotonicMs() - from >= 29);
  });

  it('wakes early when the signal aborts, and at once when it has', async () => {
    const alarm = new AbortController();
    const sleep = realClock.sleep(3_600_000, alarm.signal);
    alarm.abort();
    await sleep;
    await realClock.sleep(3_600_000, alarm.signal);
  });

  for (const ms of [Infinity, 2 ** 31])
    it(`does not take ${ms} ms for none, as Node's timers do`, async () => {
      const alarm = new AbortController();
      const sleep = realClock.sleep(ms, alarm.signal).then(() => 'woken');
      assert.equal(await Promise.race([sleep, later(50, 'still asleep')]), 'still asleep');
      alarm.abort();
      await sleep;
    });

  it('does not wait for a time that is past', async () => {
    await realClock.sleep(-5, never);
  });
});
