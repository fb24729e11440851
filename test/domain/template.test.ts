import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  fillKey,
  fillPath,
  parseTemplate,
  pathTemplateFault,
  type TemplateValues,
} from '../../src/domain/template.ts';

const key = (template: string, values: TemplateValues) => fillKey(parseTemplate(template), values);
const path = (template: string, values: TemplateValues) => fillPath(parseTemplate(template), values);
const fault = (text: string) => pathTemplateFault(parseTemplate(text));
const payload = (value: unknown) => ({ payload: { a: value } });

describe('reading a template', () => {
  it('literals and placeholders keep their order', () => {
    assert.deepEqual(parseTemplate('release:{payload.package.name}:{version}').parts, [
      { kind: 'literal', text: 'release:' },
      { kind: 'placeholder', field: ['payload', 'package', 'name'] },
      { kind: 'literal', text: ':' },
      { kind: 'placeholder', field: ['version'] },
    ]);
  });

  for (const [text, message] of [
    ['a{}', 'empty placeholder {}'],
    [
      '{batch}',
      'unknown placeholder {batch}: expected {key}, {partition}, {operation}, {version} or {payload.…}',
    ],
    [
      '{Payload.a}',
      'unknown placeholder {Payload.a}: expected {key}, {partition}, {operation}, {version} or {payload.…}',
    ],
    ['{payload}', 'placeholder {payload} names no field: expected e.g. {payload.id}'],
    ['{payload.}', 'placeholder {payload.} has an empty field name'],
    ['{payload..a}', 'placeholder {payload..a} has an empty field name'],
    ['{key.a}', 'placeholder {key.a}: key has no fields'],
    ['a{key', 'unbalanced { in "a{key"'],
    ['key}', 'unbalanced } in "key}"'],
    ['{{key}}', 'unbalanced { in "{{key}}"'],
  ] as const) {
    it(`${text} is refused: ${message}`, () => {
      assert.throws(() => parseTemplate(text), { message });
    });
  }

  it('a path template takes only what a URL’s path takes', () => {
    for (const text of ['/', '/releases', '/a/{payload.a}/b/', '/a%20b/{key}.json', '/{partition}@{version}'])
      assert.equal(fault(text), undefined, text);
    assert.match(fault('releases') ?? '', /begins with \//);
    assert.match(fault('{payload.a}/x') ?? '', /begins with \//);
    for (const text of ['/a?b={key}', '/a#b', '/a b', '/a\tb', '/a\\b', '/ä', '/a%2', '/a%zz'])
      assert.match(fault(text) ?? '', /only characters that a URL's path takes/, text);
    assert.match(fault('//elsewhere.example/x') ?? '', /no empty segment/);
    for (const text of ['/a/../b', '/./{key}', '/a/%2e%2E'])
      assert.match(fault(text) ?? '', /no segment/, text);
  });
});

describe('filling a key', () => {
  it('text, whole numbers and booleans are filled in as they are', () => {
    assert.deepEqual(
      key('{operation}:{partition}:{version}:{payload.p.name}:{payload.n}:{payload.ok}', {
        operation: 'release',
        partition: 'eu',
        version: 7,
        payload: { p: { name: 'a/b c' }, n: -3, ok: false },
      }),
      { ok: true, text: 'release:eu:7:a/b c:-3:false' },
    );
  });

  for (const [what, value, reason] of [
    ['nothing', undefined, 'payload.a: missing, needed by the key template'],
    ['null', null, 'payload.a: expected text, a whole number or true/false for the key template, got null'],
    [
      'a fraction',
      1.5,
      'payload.a: expected text, a whole number or true/false for the key template, got the number 1.5',
    ],
    [
      'a list',
      ['x'],
      'payload.a: expected text, a whole number or true/false for the key template, got a list',
    ],
    [
      'an object',
      {},
      'payload.a: expected text, a whole number or true/false for the key template, got an object',
    ],
    ['an empty text', '', 'payload.a: empty, which the key template cannot carry'],
    ['a lone surrogate', '\ud800', 'payload.a: text with a lone surrogate, which UTF-8 cannot carry'],
  ] as const) {
    it(`${what} is refused, naming the field`, () => {
      assert.deepEqual(key('x:{payload.a}', payload(value)), { ok: false, reason });
    });
  }

  it('an integer that a double rounds is refused', () => {
    assert.equal(key('{payload.a}', payload(2 ** 53)).ok, false);
  });

  it('what JavaScript puts on every value is no field', () => {
    for (const template of [
      '{payload.constructor.name}',
      '{payload.a.length}',
      '{payload.b.length}',
      '{payload.toString}',
    ])
      assert.match(filledReason(key(template, { payload: { a: 'text', b: [1] } })), /: missing, needed by/);
    assert.match(filledReason(key('{payload.x}', { payload: null })), /^payload.x: missing/);
    assert.match(filledReason(key('{version}', { payload: {} })), /^version: missing/);
  });
});

describe('filling a path', () => {
  it('each value is one percent-encoded segment', () => {
    assert.deepEqual(path('/packages/{payload.a}/releases', payload('@scope/näme?x=1#y\\z')), {
      ok: true,
      text: '/packages/%40scope%2Fn%C3%A4me%3Fx%3D1%23y%5Cz/releases',
    });
    assert.deepEqual(path('/{payload.a}', payload("!'()*")), { ok: true, text: '/%21%27%28%29%2A' });
  });

  it('values that a URL cannot carry are refused', () => {
    for (const value of ['.', '..'])
      assert.deepEqual(path('/a/{payload.a}', payload(value)), {
        ok: false,
        reason: `payload.a: ${value} is a step in a path, which a URL cannot carry as a value`,
      });
    assert.equal(
      filledReason(path('/a/{payload.a}', payload(''))),
      'payload.a: empty, which the path template cannot carry',
    );
  });

  it('a value that makes a dot segment together with its neighbours is refused', () => {
    for (const template of ['/a/.{payload.a}', '/a/{payload.a}%2E/x'])
      assert.equal(path(template, payload('.')).ok, false, template);
  });

  it('no value can add a segment or a query, or leave the path; and each decodes back to itself', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.string({
        unit: fc.constantFrom('.', '/', '\\', '%', '2', 'e', '?', '#', ':', '@', ' ', '\n', ';', '+'),
        minLength: 1,
      }),
    );
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        const filled = path('/base/{payload.a}/x/{payload.b}', { payload: { a, b } });
        if (!filled.ok) {
          assert(
            [a, b].some((value) => ['.', '..'].includes(value)),
            filled.reason,
          );
          return;
        }
        const url = new URL(`http://upstream.example:81${filled.text}`);
        assert.equal(url.host, 'upstream.example:81');
        assert.equal(url.search + url.hash, '');
        assert.deepEqual(url.pathname.split('/').map(decodeURIComponent), ['', 'base', a, 'x', b]);
        assert.equal(url.pathname, filled.text, 'nothing is left for a URL parser to rewrite');
      }),
      { numRuns: 2_000 },
    );
  });
});

function filledReason(filled: ReturnType<typeof fillKey>): string {
  assert(!filled.ok, 'expected a refusal');
  return filled.reason;
}
