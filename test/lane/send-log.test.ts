import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { audit } from '../../src/domain/audit.ts';
import { type LeavingCall, openSendLog } from '../../src/lane/send-log.ts';
import { leaving, linesOf, newFile, read, terms, throttled, writer } from './send-log-samples.ts';

const instant = (ms: number) => Math.round((performance.timeOrigin + ms) * 1_000) / 1_000;

describe('the send log', () => {
  it('has a line of a call as soon as it leaves, and a whole one when it has ended', () => {
    const file = newFile();
    const lane = openSendLog(file, writer).opened(terms);
    const entry = lane.left(leaving(1_000));
    assert.deepEqual(
      linesOf(file).map(({ kind }) => kind),
      ['log', 'opened', 'left'],
    );
    entry.answered(1_020.5);
    entry.ended(throttled(1_021));
    const [, , left, call] = linesOf(file);
    assert(left?.kind === 'left' && call?.kind === 'call');
    const { prev: _, hash: __, ...said } = call;
    assert.deepEqual(said, {
      kind: 'call',
      call: left.call,
      lane: 'releases',
      epoch: 3,
      key: 'release:a',
      attempt: 1,
      sha256: left.sha256,
      lookup: false,
      probe: false,
      leftAt: instant(1_000),
      holder: 'worker@here',
      answeredAt: instant(1_020.5),
      verdict: 'throttled',
      end: 429,
      retryAfter: '2',
      retryAfterMs: 2_000,
      endedAt: instant(1_021),
    });
  });

  it('its instants are what the wall clock said when the process began, and go on evenly', () => {
    const file = newFile();
    const before = performance.timeOrigin + performance.now();
    openSendLog(file, writer).opened(terms);
    const behind = performance.timeOrigin + performance.now();
    const [log] = linesOf(file);
    assert(log?.kind === 'log' && log.at >= before - 0.001 && log.at <= behind + 0.001);
  });

  it('the hash of a call changes with its method, its path and its body, and with nothing else', () => {
    const file = newFile();
    const lane = openSendLog(file, writer).opened(terms);
    const variants: Partial<LeavingCall>[] = [
      {},
      { key: 'b', attempt: 2, probe: true, leftMs: 2 },
      { method: 'PUT' },
      { path: '/packages/b' },
      { body: '{"v":2}' },
    ];
    for (const variant of variants) lane.left({ ...leaving(1), ...variant });
    const hashes = linesOf(file).flatMap((line) => (line.kind === 'left' ? [line.sha256] : []));
    assert.equal(hashes[0], hashes[1]);
    assert.equal(new Set(hashes).size, 4);
  });

  it('is read and audited as what it is', () => {
    const file = newFile();
    const lane = openSendLog(file, writer).opened(terms);
    const entry = lane.left(leaving(0));
    entry.answered(10);
    entry.ended(throttled(11));
    lane.limits({ limit: { ...terms.limit, requests: 1 }, maxInFlight: 1 });
    lane.left(leaving(2_009));
    lane.handedOver();
    const report = audit([read(file)], { clockSkewMs: 0 });
    assert(!report.clean);
    assert.equal(
      report.lanes[0]?.checks.retryAfter.violations[0]?.says,
      'a call left 1 ms before Retry-After allowed',
    );
    assert(report.lanes[0].checks.window.ok);
  });

  it('a call that counts on another’s answer finds it written', () => {
    const file = newFile();
    const lane = openSendLog(file, writer).opened({ ...terms, maxInFlight: 2 });
    const first = lane.left(leaving(0));
    first.answered(5);
    lane.left(leaving(6));
    lane.left(leaving(7));
    first.ended({ ...throttled(8), verdict: 'succeeded', end: 200, retryAfter: null, retryAfterMs: null });
    assert.deepEqual(
      linesOf(file).map(({ kind }) => kind),
      ['log', 'opened', 'left', 'answered', 'left', 'left', 'call'],
    );
    assert.deepEqual(
      read(file).calls.map(({ answeredAt }) => answeredAt !== null),
      [true, false, false],
    );
  });

  it('a Retry-After without end is cut', () => {
    const file = newFile();
    const entry = openSendLog(file, writer).opened(terms).left(leaving(0));
    entry.answered(1);
    entry.ended({ ...throttled(2), retryAfter: '9'.repeat(10_000) });
    assert.equal(read(file).calls.length, 1);
    assert(readFileSync(file).length < 4_096);
  });
});

describe('a process that is killed during a call', () => {
  it('leaves proof that the call left', async () => {
    const file = newFile();
    const script = `
      import { openSendLog } from ${JSON.stringify(new URL('../../src/lane/send-log.ts', import.meta.url).href)};
      const lane = openSendLog(${JSON.stringify(file)}, ${JSON.stringify(writer)}).opened(${JSON.stringify(terms)});
      lane.left({ ...${JSON.stringify(leaving(0))}, leftMs: performance.now() });
      process.kill(process.pid, 'SIGKILL');`;
    const child = spawn(
      process.execPath,
      ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', script],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    const [, signal] = await once(child, 'exit');
    assert.equal(signal, 'SIGKILL');
    const { calls, tornLine } = read(file);
    assert.deepEqual(
      calls.map(({ key, end }) => [key, end]),
      [['release:a', null]],
    );
    assert.equal(tornLine, null);
  });
});
