import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { faults, lane, only } from './config-lane.ts';

const idempotency = (header: string) => lane(['upstream.idempotency', { header, window: '1h' }]);

describe('headers and the environment', () => {
  const withToken = lane([
    'upstream.headers',
    { Authorization: 'Bearer ${TOKEN}', Accept: 'application/json' },
  ]);

  it('variables are expanded in headers and base URLs, and those of headers are secrets', () => {
    const config = only(
      lane(
        ['upstream.baseUrl', 'http://${HOST}:8080/v1//'],
        ['upstream.headers', { Authorization: 'Bearer ${TOKEN}' }],
      ),
      { HOST: 'localhost', TOKEN: 's3cret' },
    );
    assert.equal(config.baseUrl, 'http://localhost:8080/v1');
    assert.deepEqual(config.headers, { Authorization: 'Bearer s3cret' });
    assert.deepEqual(config.secrets, ['s3cret']);
  });

  it('they are expanded nowhere else', () => {
    assert.equal(only(lane(['owner', '${TOKEN}']), { TOKEN: 'x' }).policy.owner, '${TOKEN}');
  });

  it('one that is not set or empty is named', () => {
    const path = 'lanes.releases.upstream.headers.Authorization';
    assert.deepEqual(faults(withToken), [`${path}: environment variable TOKEN is not set`]);
    assert.deepEqual(faults(withToken, { TOKEN: '' }), [`${path}: environment variable TOKEN is empty`]);
    assert.deepEqual(faults(lane(['upstream.baseUrl', '${URL}'])), [
      'lanes.releases.upstream.baseUrl: environment variable URL is not set',
    ]);
  });

  for (const placeholder of ['${', '${}', '${A-B}', '${A'])
    it(`${placeholder} is refused`, () => {
      assert.deepEqual(faults(lane(['upstream.headers', { X: placeholder }]), { A: 'a' }), [
        'lanes.releases.upstream.headers.X: expected the name of an environment variable between ${ and }',
      ]);
    });

  it('no control character gets into a header, and no value into an error', () => {
    const control = fc.constantFrom('\r', '\n', '\0', '\r\nX-Evil: 1', '\t', '\x7f', 'é', '\u{1F512}');
    const text = fc.stringMatching(/^q[a-z]{5,9}$/);
    fc.assert(
      fc.property(text, control, text, (before, evil, behind) => {
        const found = faults(withToken, { TOKEN: before + evil + behind });
        assert.equal(found.length, 1);
        assert.match(found[0] ?? '', /headers\.Authorization: expected printable ASCII/);
        assert(!found[0]?.includes(before) && !found[0]?.includes(behind), found[0]);
      }),
      { numRuns: 50 },
    );
  });

  it('a header’s value is not quoted when it is no text either', () => {
    assert.deepEqual(faults(lane(['upstream.headers', { 'X-Pin': 123456 }])), [
      'lanes.releases.upstream.headers.X-Pin: expected a text (numbers in quotes), got a number',
    ]);
  });

  for (const name of [
    'Content-Type',
    'content-length',
    'HOST',
    'Transfer-Encoding',
    'Connection',
    'X-Correlation-ID',
    'idempotency-key',
  ])
    it(`${name} is onelane's own`, () => {
      assert.deepEqual(faults(lane(['upstream.headers', { [name]: 'x' }])), [
        `lanes.releases.upstream.headers.${name}: onelane sets this header itself`,
      ]);
    });

  it('the header for keys can be another, but not one that is used already', () => {
    assert.equal(only(idempotency('X-Request-Id')).policy.delivery.idempotency?.header, 'X-Request-Id');
    assert.equal(faults(idempotency('content-type')).length, 1);
    assert.equal(faults(idempotency('a b')).length, 1);
  });

  it('names are tokens, and one header stands once', () => {
    assert.match(
      faults(lane(['upstream.headers', { 'A B': 'x' }])).join(),
      /headers\["A B"\]: expected a header name/,
    );
    assert.match(
      faults(lane(['upstream.headers', { Accept: 'x', ACCEPT: 'y' }])).join(),
      /ACCEPT: the same header/,
    );
  });

  for (const [url, got] of [
    ['api.example', 'a text that is no URL'],
    ['ftp://api.example', 'another protocol'],
    ['https://me:s3cret@api.example', 'one with credentials, which belong in a header'],
    ['https://api.example/?a=1', 'one with a query or a fragment'],
    ['https://api.example/#', 'one with a query or a fragment'],
  ] as const)
    it(`the base URL is refused as ${got}`, () => {
      assert.deepEqual(faults(lane(['upstream.baseUrl', '${URL}']), { URL: url }), [
        `lanes.releases.upstream.baseUrl: expected an absolute http or https URL, got ${got}`,
      ]);
    });
});
