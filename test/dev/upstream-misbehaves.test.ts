import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import { read, send, sendInVain, until, withUpstream } from './upstream-harness.ts';

/** Runs a test against an upstream in which key `k` has this script. */
function withScript(faults: FaultScript[string], test: Parameters<typeof withUpstream>[1]): Promise<void> {
  return withUpstream({ faults: { k: faults } }, test);
}

describe('a scripted throttle', () => {
  it('gives Retry-After verbatim, or none, then lets the key through', () =>
    withScript(
      [
        { type: 'throttle', retryAfter: '2' },
        { type: 'throttle', retryAfter: 'soon, I think' },
        { type: 'throttle' },
        { type: 'throttle', status: 503, retryAfter: '0' },
      ],
      async (upstream) => {
        const answers = [];
        for (let i = 0; i < 5; i++) {
          const { status, headers } = await send(upstream, { key: 'k' });
          answers.push([status, headers.get('Retry-After')]);
        }
        assert.deepEqual(answers, [
          [429, '2'],
          [429, 'soon, I think'],
          [429, null],
          [503, '0'],
          [201, null],
        ]);
        assert.deepEqual(upstream.stats().faultsSeen, {
          'throttle:seconds': 1,
          'throttle:other': 1,
          'throttle:none': 1,
          'throttle:503:zero': 1,
        });
      },
    ));

  it('meant for everybody turns other keys away, too, with what is left of it, and then lets them through', () =>
    withScript([{ type: 'throttle', retryAfter: '1', everybody: true }], async (upstream) => {
      const first = await send(upstream, { key: 'k' });
      const meanwhile = await send(upstream, { key: 'other' });
      assert.deepEqual([first.status, meanwhile.status], [429, 429]);
      assert.equal(meanwhile.headers.get('Retry-After'), '1');
      await until(
        'the throttle has passed',
        async () => (await send(upstream, { key: 'other' })).status === 201,
      );
      const [closed, ...rest] = upstream.arrivals();
      const opened = rest.find(({ status }) => status === 201);
      assert.ok(closed && opened && opened.monotonicMs >= closed.monotonicMs + 1_000);
      assert.equal(
        upstream.stats().scripted429,
        rest.length,
        'all but the last were turned away by the script',
      );
    }));

  const forms = { imf: /^\w{3}, \d/, rfc850: /^\w{6,9}, \d\d-/, asctime: /^\w{3} \w{3} [ \d]\d / } as const;
  for (const form of ['imf', 'rfc850', 'asctime'] as const) {
    it(`gives a date of the form ${form}, as far after the answer's own Date as it says`, () =>
      withScript([{ type: 'throttle', retryAfter: { date: form, inSeconds: 90 } }], async (upstream) => {
        const { headers } = await send(upstream, { key: 'k' });
        const retryAfter = headers.get('Retry-After') ?? '';
        assert.match(retryAfter, forms[form]);
        // asctime names no zone, though it is always GMT.
        const at = Date.parse(form === 'asctime' ? `${retryAfter} GMT` : retryAfter);
        assert.equal(at - Date.parse(headers.get('Date') ?? ''), 90_000);
      }));
  }
});

describe('a scripted status', () => {
  it('before commit leaves no effect, and has its headers and body', () =>
    withScript(
      [{ type: 'status', status: 302, headers: { Location: '/elsewhere' }, body: 'go on' }],
      async (upstream) => {
        const response = await fetch(`${upstream.url}/x`, {
          method: 'POST',
          headers: { 'Idempotency-Key': 'k' },
          redirect: 'manual',
        });
        assert.equal(response.status, 302);
        assert.equal(response.headers.get('Location'), '/elsewhere');
        assert.equal(await response.text(), 'go on');
        assert.equal(upstream.effects().length, 0);
      },
    ));

  it('after commit leaves one effect, which the next attempt is told', () =>
    withScript([{ type: 'status', status: 500, effect: 'committed', times: 2 }], async (upstream) => {
      assert.equal((await send(upstream, { key: 'k' })).status, 500);
      assert.equal((await send(upstream, { key: 'k' })).status, 500);
      assert.equal((await send(upstream, { key: 'k' })).headers.get('Idempotent-Replayed'), 'true');
      assert.equal(upstream.effects().length, 1);
      assert.deepEqual(upstream.stats().faultsSeen, { 'status:500:committed': 2 });
    }));
});

describe('an answer that never comes', () => {
  it('lost after commit: the connection is reset and the effect is there', () =>
    withScript([{ type: 'lostResponse' }], async (upstream) => {
      assert.equal(await sendInVain(upstream, { key: 'k' }), 'ECONNRESET');
      assert.equal(upstream.effects().length, 1);
      assert.equal((await send(upstream, { key: 'k' })).headers.get('Idempotent-Replayed'), 'true');
    }));

  it('reset before commit: no effect', () =>
    withScript([{ type: 'reset' }], async (upstream) => {
      assert.equal(await sendInVain(upstream, { key: 'k' }), 'ECONNRESET');
      assert.equal(upstream.effects().length, 0);
      await until('its end is logged', () => upstream.arrivals()[0]?.endedMs !== null);
      assert.equal(upstream.arrivals()[0]?.status, null);
    }));

  for (const effect of ['none', 'committed'] as const) {
    it(`hanging, with effect ${effect}: counted as open until the client gives up`, () =>
      withScript([{ type: 'hang', effect }], async (upstream) => {
        const giveUp = new AbortController();
        const hanging = sendInVain(upstream, { key: 'k', signal: giveUp.signal });
        await until('its body has come', () => typeof upstream.arrivals()[0]?.bodySha256 === 'string');
        await send(upstream, { key: 'other' });
        assert.equal(upstream.arrivals()[1]?.openRequests, 2);

        giveUp.abort();
        await hanging;
        await until('its end is logged', () => upstream.arrivals()[0]?.endedMs !== null);
        await send(upstream, { key: 'another' });
        assert.equal(upstream.arrivals()[2]?.openRequests, 1);
        assert.equal(upstream.arrivals()[0]?.status, null);
        const replayed = (await send(upstream, { key: 'k' })).headers.get('Idempotent-Replayed');
        assert.equal(replayed, effect === 'committed' ? 'true' : null);
      }));
  }
});

describe('a delay', () => {
  it('after commit keeps the answer back', () =>
    withScript([{ type: 'delay', ms: 200, effect: 'committed' }], async (upstream) => {
      const answer = send(upstream, { key: 'k' });
      await until('the effect is there', () => upstream.effects().length === 1);
      assert.equal(upstream.arrivals()[0]?.endedMs, null);
      assert.equal((await answer).status, 201);
      const { monotonicMs = 0, endedMs } = upstream.arrivals()[0] ?? {};
      // Timers may fire a millisecond early.
      assert.ok(Number(endedMs) - monotonicMs >= 199);
    }));

  it('before commit holds the key, and takes effect though the client has gone', () =>
    withScript([{ type: 'delay', ms: 400 }], async (upstream) => {
      const giveUp = new AbortController();
      const first = sendInVain(upstream, { key: 'k', signal: giveUp.signal });
      await until('its body has come', () => typeof upstream.arrivals()[0]?.bodySha256 === 'string');
      giveUp.abort();
      await first;
      assert.equal((await send(upstream, { key: 'k' })).status, 409);
      assert.equal(upstream.effects().length, 0);
      await until('the late effect is there', () => upstream.effects().length === 1);
      await until('the key is free', async () => (await send(upstream, { key: 'k' })).status === 201);
      assert.equal(upstream.effects().length, 1);
    }));
});

describe('a listener closed for a time', () => {
  it('resets every connection, refuses new ones, and comes back on its port', () =>
    withUpstream(
      { faults: { k: [{ type: 'closed', forMs: 300 }], held: [{ type: 'hang' }] } },
      async (upstream) => {
        const held = sendInVain(upstream, { key: 'held' });
        await until('a request is held open', () => upstream.arrivals().length === 1);
        const closedAt = performance.now();
        assert.equal(await sendInVain(upstream, { key: 'k' }), 'ECONNRESET');
        assert.equal(await held, 'ECONNRESET');
        assert.equal(await sendInVain(upstream, { key: 'k' }), 'ECONNREFUSED');
        assert.equal(upstream.effects().length, 0);
        await until(
          'it listens again',
          async () => (await sendInVain(upstream, { key: 'k' })) === 'answered 201',
        );
        assert.ok(performance.now() - closedAt >= 299);
        assert.deepEqual(upstream.stats().faultsSeen, { hang: 1, closed: 1 });
      },
    ));

  it('can be closed for good while it is away', () =>
    withScript([{ type: 'closed', forMs: 2 ** 31 - 1 }], async (upstream) => {
      assert.equal(await sendInVain(upstream, { key: 'k' }), 'ECONNRESET');
    }));
});

describe('seeded chance', () => {
  it('befalls keys without a script, and leaves a scripted key alone', () =>
    withUpstream(
      {
        faults: { k: [{ type: 'status', status: 400 }] },
        chance: { seed: 1, faults: [{ probability: 1, fault: { type: 'status', status: 500 } }] },
      },
      async (upstream) => {
        const statuses = [];
        for (const key of ['k', 'k', 'other', 'other']) statuses.push((await send(upstream, { key })).status);
        assert.deepEqual(statuses, [400, 201, 500, 500]);
        assert.match((await read(upstream, '/stats')).text, /"status:500":2/);
      },
    ));
});
