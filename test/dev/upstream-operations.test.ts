import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import sqlite from 'node-sqlite3-wasm';
import { startUpstream } from '../../src/dev/upstream/server.ts';
import { PLENTY, read, send, sendInVain, until, withFolder, withUpstream } from './upstream-harness.ts';

describe('an upstream that takes keys', () => {
  it('answers a known key with the original completion, and says so', () =>
    withUpstream({}, async (upstream) => {
      const first = await send(upstream, { key: 'release:a:v1' });
      assert.equal(first.status, 201);
      assert.equal(first.headers.get('Idempotent-Replayed'), null);
      const [effect] = upstream.effects();
      assert.deepEqual(JSON.parse(first.text), { id: effect?.id, key: 'release:a:v1', status: 'done' });

      const second = await send(upstream, { key: 'release:a:v1' });
      assert.equal(second.status, 201);
      assert.equal(second.headers.get('Idempotent-Replayed'), 'true');
      assert.equal(second.text, first.text);
      assert.equal(upstream.effects().length, 1);
    }));

  it('answers a known key with another body, path or method 422', () =>
    withUpstream({}, async (upstream) => {
      await send(upstream, { key: 'k', body: '{"a":1}' });
      assert.equal((await send(upstream, { key: 'k', body: '{"a": 1}' })).status, 422);
      assert.equal((await send(upstream, { key: 'k', body: '{"a":1}', path: '/other' })).status, 422);
      assert.equal((await send(upstream, { key: 'k', body: '{"a":1}', method: 'PUT' })).status, 422);
      assert.equal(upstream.effects().length, 1);
    }));

  it('answers a key in progress 409, and tells its completion afterwards', () =>
    withUpstream({ latencyMs: 300 }, async (upstream) => {
      const first = send(upstream, { key: 'k' });
      await until('the first is at work', () => upstream.effects().length === 1);
      assert.equal((await send(upstream, { key: 'k' })).status, 409);
      assert.equal((await first).status, 201);
      assert.equal((await send(upstream, { key: 'k' })).headers.get('Idempotent-Replayed'), 'true');
    }));

  it('answers a request without a key 400, and counts it', () =>
    withUpstream({}, async (upstream) => {
      assert.equal((await send(upstream, {})).status, 400);
      assert.equal(upstream.stats().arrivals, 1);
      assert.equal(upstream.effects().length, 0);
    }));

  it('has the database itself refuse a second effect of a key', () =>
    withFolder(async (folder) => {
      const file = join(folder, 'upstream.db');
      const upstream = await startUpstream({ file, mode: 'keys', quota: PLENTY });
      await send(upstream, { key: 'k' });
      await upstream.close();
      const db = new sqlite.Database(file);
      try {
        assert.throws(
          () =>
            db.run(
              "INSERT INTO effects SELECT 'eff_2', key, method, path, bodySha256, body, atMs FROM effects",
            ),
          /UNIQUE constraint failed: effects.key/,
        );
      } finally {
        db.close();
      }
    }));
});

describe('an upstream that takes no keys', () => {
  for (const mode of ['lookup', 'neither'] as const) {
    it(`records a second effect as one, in mode ${mode}`, () =>
      withUpstream({ mode }, async (upstream) => {
        await send(upstream, { key: 'k' });
        assert.equal((await send(upstream, { key: 'k' })).status, 201);
        await send(upstream, { key: 'other' });
        const { effects, keysWithTwoEffects } = upstream.stats();
        assert.deepEqual({ effects, keysWithTwoEffects }, { effects: 3, keysWithTwoEffects: 1 });
      }));
  }

  it('knows an operation by its correlation ID where it has no key', () =>
    withUpstream({ mode: 'lookup' }, async (upstream) => {
      await send(upstream, { headers: { 'X-Correlation-ID': 'c-1' } });
      assert.equal((await read(upstream, '/effects/c-1')).status, 200);
    }));
});

describe('what can be read', () => {
  it('a lookup gives the effect or 404', () =>
    withUpstream({ mode: 'lookup' }, async (upstream) => {
      await send(upstream, { key: 'k', body: '{"v":"ü"}' });
      const found = await read(upstream, '/effects/k');
      assert.equal(found.status, 200);
      assert.deepEqual(JSON.parse(found.text), upstream.effects()[0]);
      assert.equal(upstream.effects()[0]?.body, '{"v":"ü"}');
      assert.equal((await read(upstream, '/effects/absent')).status, 404);
      assert.equal((await read(upstream, '/effects/%zz')).status, 400);
    }));

  it('mode neither has no lookup, yet all its effects can be read', () =>
    withUpstream({ mode: 'neither' }, async (upstream) => {
      await send(upstream, { key: 'k' });
      assert.equal((await read(upstream, '/effects/k')).status, 404);
      assert.deepEqual(JSON.parse((await read(upstream, '/effects')).text), upstream.effects());
    }));

  it('any key of printable ASCII that a URL can carry is found again', () =>
    withUpstream({}, async (upstream) => {
      const character = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code));
      const key = fc
        .string({ unit: character, minLength: 1, maxLength: 255 })
        .filter((text) => text.trim() === text && text !== '.' && text !== '..');
      await fc.assert(
        fc.asyncProperty(key, async (text) => {
          assert.equal((await send(upstream, { key: text })).status, 201);
          const found = await read(upstream, `/effects/${encodeURIComponent(text)}`);
          assert.equal(found.status, 200);
          assert.ok(found.text.includes(`"key":${JSON.stringify(text)},`), found.text);
        }),
        { numRuns: 50, examples: [['a/b'], [`"'%25?#\\`], ['constructor'], ['__proto__']] },
      );
    }));

  it('reads, wrong methods and unknown paths are no operations', () =>
    withUpstream({}, async (upstream) => {
      assert.equal((await send(upstream, { key: 'k', path: '/stats' })).status, 405);
      assert.equal((await send(upstream, { key: 'k', path: '/effects/k' })).status, 405);
      assert.equal((await read(upstream, '/releases')).status, 404);
      assert.equal((await read(upstream, '/stats?pretty')).status, 200);
      assert.equal(upstream.stats().arrivals, 0);
    }));

  it('the log has each arrival, with what it asked and how it ended', () =>
    withUpstream({}, async (upstream) => {
      const before = Date.now();
      await send(upstream, { key: 'k', body: 'abc', path: '/x?y=1', headers: { 'X-Correlation-ID': 'c-1' } });
      await until('its end is logged', () => upstream.arrivals()[0]?.endedMs !== null);
      const [logged] = JSON.parse((await read(upstream, '/arrivals')).text);
      const { run, monotonicMs, wallMs, endedMs, ...rest } = logged;
      assert.deepEqual(rest, {
        sequence: 1,
        key: 'k',
        method: 'POST',
        path: '/x?y=1',
        correlationId: 'c-1',
        openRequests: 1,
        overQuota: false,
        fault: null,
        // SHA-256 of "abc", from FIPS 180-2.
        bodySha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
        status: 201,
      });
      assert.equal(typeof run, 'string');
      assert.ok(wallMs >= before && wallMs <= Date.now());
      assert.ok(endedMs >= monotonicMs);
    }));

  it('a body beyond 1 MiB is answered 413, without effect', () =>
    withUpstream({}, async (upstream) => {
      assert.equal((await send(upstream, { key: 'k', body: 'x'.repeat(1024 * 1024 + 1) })).status, 413);
      assert.equal(upstream.effects().length, 0);
    }));
});

describe('the quota at the upstream', () => {
  const quota = { requests: 2, perMs: 1_200 };

  it('turns away what is too much, without effect, and lets it in when it said', () =>
    withUpstream({ quota }, async (upstream) => {
      await send(upstream, { key: 'a' });
      await send(upstream, { key: 'b' });
      const turnedAway = await send(upstream, { key: 'c' });
      assert.equal(turnedAway.status, 429);
      assert.equal(turnedAway.headers.get('Retry-After'), '2');
      assert.equal(upstream.effects().length, 2);

      await until('it is let in', async () => {
        const { wallMs = 0 } = upstream.arrivals().at(-1) ?? {};
        return Date.now() - wallMs > quota.perMs && (await send(upstream, { key: 'c' })).status === 201;
      });
      const { status429, scripted429, maxInAnyWindow } = upstream.stats();
      assert.deepEqual(
        { status429, scripted429, maxInAnyWindow },
        { status429: 1, scripted429: 0, maxInAnyWindow: 3 },
      );
    }));

  it('counts faults and not reads', () =>
    withUpstream({ quota, faults: { a: [{ type: 'reset' }, { type: 'throttle' }] } }, async (upstream) => {
      await sendInVain(upstream, { key: 'a' });
      for (let i = 0; i < 5; i++) await read(upstream, '/stats');
      assert.equal((await send(upstream, { key: 'a' })).status, 429);
      assert.equal((await send(upstream, { key: 'b' })).headers.get('Retry-After'), '2');
      const { status429, scripted429, arrivals } = upstream.stats();
      assert.deepEqual({ status429, scripted429, arrivals }, { status429: 2, scripted429: 1, arrivals: 3 });
    }));

  it('takes no fault from the script of a key that it turns away', () =>
    withUpstream(
      { quota: { requests: 1, perMs: 500 }, faults: { k: [{ type: 'status', status: 400 }] } },
      async (upstream) => {
        await send(upstream, { key: 'other' });
        assert.equal((await send(upstream, { key: 'k' })).status, 429);
        assert.deepEqual(upstream.stats().faultsSeen, {});
        await until(
          'the window has passed',
          () => Date.now() - (upstream.arrivals().at(-1)?.wallMs ?? 0) > 500,
        );
        assert.equal((await send(upstream, { key: 'k' })).status, 400);
      },
    ));
});
