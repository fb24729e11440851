import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertAllSucceeded, items, openScene, type Scene } from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';

const OUTAGE_MS = 60_000;
/** How often a closed lane probes at the rarest, and what a busy machine may add to that. */
const PROBE_INTERVAL_MS = 30_000;
const SLACK_MS = 5_000;

suite('an outage of a minute makes no dead letter, and ends within one probe interval:', () => {
  const temporal = useTemporal();
  let scene: Scene;
  let backAtMs: number;

  before(async () => {
    scene = await openScene({ temporal, lanes: { one: {}, fifty: {} } });
    await scene.upstream.end('SIGKILL');
    await scene.worker();
    await scene.publish('one', items('one', 1), { lane: 'one' });
    await scene.publish('fifty', items('fifty', 50), { lane: 'fifty' });
    await sleep(OUTAGE_MS);
    await scene.upstream.start();
    backAtMs = Date.now();
  });
  after(() => scene?.end());

  for (const [lane, count] of [
    ['one', 1],
    ['fifty', 50],
  ] as const) {
    test(`with ${count} queued`, async () => {
      const settled = await scene.settled(lane);
      assertAllSucceeded(settled, count);
      assert.equal(settled.counts.dead, 0);
      const log = (await scene.upstream.arrivals()).filter(({ key }) => key?.startsWith(`${lane}:`));
      assert.equal(log.length, count, 'each was sent once');
      const afterMs = (log[0]?.wallMs ?? Infinity) - backAtMs;
      assert.ok(afterMs <= PROBE_INTERVAL_MS + SLACK_MS, `the first call came after ${afterMs} ms`);
      // Which of them probed, nobody can say in advance.
      const records = await Promise.all(items(lane, count).map(({ key }) => scene.record(key)));
      assert.ok(
        records.some(({ attempts }) => attempts.unavailable > 0),
        'the outage was felt',
      );
    });
  }
});
