import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { read, send, sendInVain, until, withUpstream } from './upstream-harness.ts';

describe('a key window', () => {
  it('makes a repetition after it a second effect, and one within it the original completion', () =>
    withUpstream({ keyWindowMs: 400 }, async (upstream) => {
      const first = await send(upstream, { key: 'k' });
      assert.equal((await send(upstream, { key: 'k' })).text, first.text);
      assert.equal(upstream.effects().length, 1);
      const [effect] = upstream.effects();
      await until('the key is forgotten', () => Date.now() - Number(effect?.atMs) >= 400);
      const second = await send(upstream, { key: 'k' });
      assert.equal(second.status, 201);
      assert.notEqual(second.text, first.text);
      assert.equal(upstream.stats().keysWithTwoEffects, 1);
    }));

  it('refuses another body under a known key only as long as the key is known', () =>
    withUpstream({ keyWindowMs: 60_000 }, async (upstream) => {
      await send(upstream, { key: 'k', body: '{"a":1}' });
      assert.equal((await send(upstream, { key: 'k', body: '{"a":2}' })).status, 422);
    }));
});

describe('a lookup', () => {
  it('meets the faults of its key, one after the other, and then tells the truth', () =>
    withUpstream(
      {
        mode: 'lookup',
        lookupFaults: {
          'a/b': [
            { type: 'status', status: 500 },
            { type: 'otherRecord' },
            { type: 'html', times: 2 },
            { type: 'throttle', retryAfter: '7' },
          ],
        },
      },
      async (upstream) => {
        await send(upstream, { key: 'a/b' });
        const look = () => read(upstream, '/effects/a%2Fb');
        assert.equal((await look()).status, 500);
        assert.notEqual(JSON.parse((await look()).text).key, 'a/b');
        for (const page of [await look(), await look()]) {
          assert.equal(page.status, 200);
          assert.match(page.text, /^<!doctype html>/);
        }
        const throttled = await look();
        assert.deepEqual([throttled.status, throttled.headers.get('Retry-After')], [429, '7']);
        assert.equal(JSON.parse((await look()).text).key, 'a/b');
      },
    ));

  it('that hangs, or is reset, gives nothing', () =>
    withUpstream(
      { mode: 'lookup', lookupFaults: { k: [{ type: 'reset' }, { type: 'hang' }] } },
      async (upstream) => {
        const path = '/effects/k';
        assert.equal(
          await fetch(upstream.url + path).catch((error: unknown) => error instanceof TypeError),
          true,
        );
        const signal = AbortSignal.timeout(100);
        await assert.rejects(fetch(upstream.url + path, { signal }), { name: 'TimeoutError' });
        assert.equal((await read(upstream, path)).status, 404);
      },
    ));

  it('is free, unless lookups are counted: then it is an arrival like others, and is turned away over quota', () =>
    withUpstream({ mode: 'lookup', quota: { requests: 1, perMs: 60_000 } }, async (upstream) => {
      for (let i = 0; i < 3; i++) assert.equal((await read(upstream, '/effects/k')).status, 404);
      assert.equal(upstream.stats().arrivals, 0);
    }).then(() =>
      withUpstream(
        { mode: 'lookup', countLookups: true, quota: { requests: 2, perMs: 60_000 } },
        async (upstream) => {
          await send(upstream, { key: 'k' });
          assert.equal((await read(upstream, '/effects/k')).status, 200);
          assert.equal((await read(upstream, '/effects/k')).status, 429);
          const logged = upstream.arrivals().map(({ method, key, status }) => [method, key, status]);
          assert.deepEqual(logged, [
            ['POST', 'k', 201],
            ['GET', 'k', 200],
            ['GET', 'k', 429],
          ]);
        },
      ),
    ));

  it("does not move its key's story on, also where it counts", () =>
    withUpstream(
      {
        mode: 'lookup',
        countLookups: true,
        faults: { k: [{ type: 'status', status: 500 }, { type: 'reset' }] },
      },
      async (upstream) => {
        assert.equal((await send(upstream, { key: 'k' })).status, 500);
        assert.equal((await read(upstream, '/effects/k')).status, 404);
        assert.equal(await sendInVain(upstream, { key: 'k' }), 'ECONNRESET');
      },
    ));
});
