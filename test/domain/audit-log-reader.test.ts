import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NotASendLogError } from '../../src/domain/audit/contents.ts';
import type { LineBody } from '../../src/domain/audit/lines.ts';
import { SendLogReader } from '../../src/domain/audit/log-reader.ts';
import { chain, read, writeLogs } from './audit-logs.ts';
import { call, left, log, opened, refusal, terms, whole } from './audit-samples.ts';
import { simulate } from './audit-simulator.ts';

describe('a log that no onelane wrote', () => {
  const cases: [string, readonly LineBody[], number, RegExp][] = [
    ['begins without its header', [opened], 1, /^kind: expected log in the first line/],
    [
      'lets a call leave from an epoch that it has not opened',
      [log, left],
      2,
      /^epoch: expected one that its process/,
    ],
    [
      'lets a call leave from an epoch of an earlier process',
      [log, opened, { ...log, nonce: 'f'.repeat(16) }, left],
      4,
      /^epoch: expected one that its process has opened/,
    ],
    [
      'lets a call leave after the handover',
      [log, opened, { kind: 'handedOver', lane: 'a', epoch: 1, at: 3 }, left],
      4,
      /^epoch: expected one that its process has opened, got 1 of a/,
    ],
    ['lets one call leave twice', [log, opened, left, left], 4, /^call: has left before/],
    ['ends a call that has not left', [log, opened, call], 3, /^call: expected one that is open/],
    ['ends one call twice', [log, opened, left, call, call], 5, /^call: expected one that is open/],
    [
      'tells a call’s end differently from its departure',
      [log, opened, left, { ...call, key: 'l' }],
      4,
      /^key: expected what the call's "left" line says/,
    ],
    [
      'ends a call of an earlier process',
      [log, opened, left, { ...log, nonce: 'f'.repeat(16) }, opened, call],
      6,
      /^call: expected one that is open/,
    ],
    [
      'tells another answer than before',
      [log, opened, left, { kind: 'answered', call: 'n:1', answeredAt: 3.5 }, call],
      5,
      /^answeredAt: expected what/,
    ],
    [
      'answers a call twice',
      [
        log,
        opened,
        left,
        ...[3, 4].map((at) => ({ kind: 'answered' as const, call: 'n:1', answeredAt: at })),
      ],
      5,
      /^call: was answered before/,
    ],
    [
      'answers a call before it left',
      [log, opened, left, { kind: 'answered', call: 'n:1', answeredAt: 2 }],
      4,
      /^answeredAt: expected nothing before leftAt/,
    ],
    [
      'answers a call before it left, at its end',
      [...whole.slice(0, 3), { ...call, answeredAt: 2 }],
      4,
      /^leftAt:/,
    ],
    [
      'ends a call before it was answered',
      [...whole.slice(0, 3), { ...call, endedAt: 3.5 }],
      4,
      /^answeredAt:/,
    ],
    [
      'has a status without an answer',
      [...whole.slice(0, 3), { ...call, answeredAt: null }],
      4,
      /^end: expected/,
    ],
    [
      'has a limit of 0',
      [log, { ...opened, limit: { ...terms.limit, requests: 0 } }],
      2,
      /^limit\.requests: /,
    ],
  ];
  for (const [name, lines, line, problem] of cases)
    it(`one that ${name} is rejected at that line`, () => {
      const found = refusal(chain(lines) + chain(lines));
      assert.equal(found.line, line, found.problem);
      assert.match(found.problem, problem);
    });

  it('another file is not taken for one', () => {
    for (const text of ['', 'hello', 'hello\n', '{"kind":"log"}\n', 'x\n'.repeat(1_000)])
      assert.match(refusal(text).problem, /^expected a send log; /, JSON.stringify(text));
    assert.equal(refusal('').problem, 'expected a send log; it holds no whole line');
    assert.match(refusal('hello\nyou\n').problem, /; line 1: expected a line of JSON/);
  });

  it('a long file of another kind is not read to its end', () => {
    const reader = new SendLogReader();
    let lines = 0;
    assert.throws(() => {
      for (; lines < 1_000; lines++) reader.take('hello');
    }, NotASendLogError);
    assert(lines < 100, String(lines));
  });

  it('a field that is not known is rejected, as it would be by whoever wrote this one', () => {
    const extra: LineBody = Object.assign({}, opened, { extra: 1 });
    assert.match(refusal(chain([log, extra, left])).problem, /extra/);
  });
});

describe('a call', () => {
  it('goes by the terms that its process had told before it', () => {
    const limits: LineBody = {
      kind: 'limits',
      lane: 'a',
      epoch: 1,
      limit: { ...terms.limit, requests: 2 },
      maxInFlight: 1,
      at: 6,
    };
    const second = { ...left, call: 'n:2', leftAt: 7 };
    const { calls } = read(chain([...whole, limits, second]));
    assert.deepEqual(
      calls.map((each) => [each.terms.limit.requests, each.terms.maxInFlight, each.terms.timeoutMs]),
      [
        [5, 2, 500],
        [2, 1, 500],
      ],
    );
  });

  it('has its answer also where only that was written', () => {
    const { calls } = read(chain([log, opened, left, { kind: 'answered', call: 'n:1', answeredAt: 4 }]));
    assert.deepEqual([calls[0]?.answeredAt, calls[0]?.end], [4, null]);
  });

  it('of a log without calls is none', () => {
    const [text = ''] = writeLogs(
      simulate({ requests: 1, perMs: 1, arrivalWithinMs: null, maxInFlight: 1, timeoutMs: 1 }, []),
    );
    assert.deepEqual(read(text).calls, []);
  });
});
