import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { UpstreamAnswer } from '../../src/lane/answers.ts';
import { FunctionUpstream, functionPath } from '../../src/lane/function-upstream.ts';

/** What code gives that no compiler has seen. */
const unchecked = z.custom<UpstreamAnswer>(() => true);

const circular: { self?: object } = {};
circular.self = circular;
const named = (name: unknown) => Object.defineProperty(new Error('x'), 'name', { value: name });

const ODD: Readonly<Record<string, { script: () => unknown; said: RegExp; code: string }>> = {
  undefined: { script: () => Promise.reject(undefined), said: /threw undefined$/, code: 'THREW undefined' },
  text: { script: () => Promise.reject('a text'), said: /threw a text$/, code: 'THREW string' },
  bare: {
    script: () => Promise.reject(Object.create(null)),
    said: /threw something that has no text$/,
    code: 'THREW object',
  },
  lines: {
    script: () => Promise.reject(new Error('a\n  b')),
    said: /threw Error: a b$/,
    code: 'THREW Error',
  },
  'odd name': { script: () => Promise.reject(named('a\nb c')), said: /threw a b c: x$/, code: 'THREW Error' },
  'no name': { script: () => Promise.reject(named(circular)), said: /threw .+$/, code: 'THREW Error' },
  nothing: {
    script: () => undefined,
    said: /answered what is no answer: .*expected object, received undefined$/,
    code: 'NO_ANSWER',
  },
  status: {
    script: () => ({ status: 7 }),
    said: /answered what is no answer: status: .*>=100/,
    code: 'NO_ANSWER',
  },
  headers: {
    script: () => ({ status: 200, headers: { a: 1 } }),
    said: /answered what is no answer: headers\.a: .*expected string, received number$/,
    code: 'NO_ANSWER',
  },
  response: {
    script: () => new Response('{}'),
    said: /answered what is no answer: headers: .*expected record/,
    code: 'NO_ANSWER',
  },
  circular: {
    script: () => ({ status: 200, body: circular }),
    said: /answered what is no answer: body: expected text, or what JSON carries$/,
    code: 'NO_ANSWER',
  },
};

for (const [name, { script, said, code }] of Object.entries(ODD))
  test(`whatever a function throws or answers, nobody knows what was done, and it is said in one line: ${name}`, async () => {
    const lines: string[] = [];
    const operations = new Map([[functionPath('pay'), async () => unchecked.parse(await script())]]);
    const upstream = new FunctionUpstream('l', { operations, lookup: null }, (line) => void lines.push(line));
    const request = { method: 'POST', path: functionPath('pay'), headers: {}, body: '1', timeoutMs: 60_000 };
    const observer = { mayLeave: () => true, answered: () => undefined };
    const end = await upstream.call(request, observer, { key: 'k', attempt: 1 });
    assert.deepEqual(end, { kind: 'unanswered', code });
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', said);
    assert.match(lines[0] ?? '', /^POST \/pay of item k [^\n]+$/);
  });
