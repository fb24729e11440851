import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { RetryAfter } from '../../src/dev/upstream/faults.ts';
import {
  assertAllSucceeded,
  assertBudgetUntouched,
  items,
  keysOf,
  openScene,
  type Scene,
  withScene,
} from './support/scene.ts';
import { useTemporal } from './support/temporal.ts';
import { assertOneEffectEach } from './support/upstream.ts';

/** How long a lane backs off by itself when it is not told for how long, the first time. */
const OWN_BACKOFF_MS = 1_000;

interface Form {
  readonly retryAfter?: RetryAfter;
  /** what it asks for; fractions are rounded up, and what can't be used is as if absent */
  readonly asksMs: number;
}

const date = (form: 'imf' | 'rfc850' | 'asctime'): Form => ({
  retryAfter: { date: form, inSeconds: 3 },
  asksMs: 3_000,
});

const FORMS: readonly [name: string, form: Form][] = [
  ['in seconds', { retryAfter: '2', asksMs: 2_000 }],
  ['as an IMF-fixdate', date('imf')],
  ['as an RFC 850 date', date('rfc850')],
  ['as an asctime date', date('asctime')],
  ['with a fraction', { retryAfter: '1.5', asksMs: 2_000 }],
  ['of 0', { retryAfter: '0', asksMs: OWN_BACKOFF_MS }],
  ['that is negative', { retryAfter: '-3', asksMs: OWN_BACKOFF_MS }],
  ['that is empty', { retryAfter: '', asksMs: OWN_BACKOFF_MS }],
  ['that is garbage', { retryAfter: 'soon', asksMs: OWN_BACKOFF_MS }],
  ['that is absent', { asksMs: OWN_BACKOFF_MS }],
];

const temporal = useTemporal();

// Lanes of their own let the forms be waited for side by side.
suite('a Retry-After is never undercut, does not spin, and costs no budget:', { concurrency: true }, () => {
  let scene: Scene;
  before(async () => {
    const lanes = Object.fromEntries(FORMS.map((_, n) => [`form-${n}`, {}]));
    const faults = Object.fromEntries(
      FORMS.map(([, { retryAfter }], n) => [
        `form-${n}:1`,
        [{ type: 'throttle' as const, ...(retryAfter === undefined ? {} : { retryAfter }) }],
      ]),
    );
    scene = await openScene({ temporal, lanes, upstream: { faults } });
    await scene.worker();
  });
  after(() => scene?.end());

  for (const [n, [name, { retryAfter, asksMs }]] of FORMS.entries()) {
    test(`one ${name}`, async () => {
      const lane = `form-${n}`;
      await scene.publish(lane, items(lane, 4), { lane });
      assertAllSucceeded(await scene.settled(lane), 4);

      const log = (await scene.upstream.arrivals()).filter(({ key }) => key?.startsWith(`${lane}:`));
      const throttled = log.find(({ status }) => status === 429);
      assert.ok(throttled);
      assert.equal(log.length, 5);
      assert.equal(log.filter(({ key }) => key === throttled.key).length, 2);
      const next = log[log.indexOf(throttled) + 1];
      assert.ok(next);
      if (typeof retryAfter === 'object')
        // A date names whole seconds, so it may lie up to one second before what it was made of.
        assert.ok(next.wallMs >= Math.floor((throttled.wallMs + asksMs) / 1000) * 1000);
      else assert.ok(next.monotonicMs - throttled.monotonicMs >= asksMs);
      assertBudgetUntouched(await scene.record(`${lane}:1`));
    });
  }
});

test('a Retry-After of 2 seconds holds for every item of the lane, again when it is given again', () =>
  withScene(
    { temporal, upstream: { faults: { 'held:3': [{ type: 'throttle', retryAfter: '2', times: 2 }] } } },
    async (scene) => {
      const batch = items('held', 12);
      await scene.worker();
      await scene.publish('held', batch);
      assertAllSucceeded(await scene.settled('held'), 12);

      const log = await scene.upstream.arrivals();
      assert.equal(log.length, 14);
      log.forEach((arrival, at) => {
        if (arrival.status !== 429) return;
        const next = log[at + 1];
        assert.ok(next && next.monotonicMs - arrival.monotonicMs >= 2_000, `after ${arrival.key}`);
      });
      assert.equal((await scene.record('held:3')).attempts.throttled, 2);
      assertBudgetUntouched(await scene.record('held:3'));
      await assertOneEffectEach(scene.upstream, keysOf(batch));
    },
  ));
