import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, checkConfig } from '../src/config.ts';

const lanes = {
  releases: {
    owner: 'tests',
    upstream: {
      baseUrl: 'http://127.0.0.1:9',
      operations: { release: { method: 'POST', path: '/releases' } },
      idempotency: 'none',
    },
    limit: { requests: 5, per: '1s' },
    retry: { budget: 5 },
    deadline: 'none',
  },
};

function faultsOf(sources: unknown): string[] {
  try {
    checkConfig({ lanes, sources }, 'lanes.yaml', { TOKEN: 's3cret' });
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.ok(!error.message.includes('s3cret'));
    return error.faults.map(({ path, problem }) => `${path}: ${problem}`);
  }
}

test('sources are read with their environment, and may be absent', () => {
  assert.equal(checkConfig({ lanes }, 'lanes.yaml', {}).sources.size, 0);
  const planned = {
    url: 'https://planner/${TOKEN}?from={start}',
    headers: { Authorization: 'Bearer ${TOKEN}' },
  };
  const dropped = { files: '/drops/{startDate}/*.ndjson' };
  const { sources } = checkConfig({ lanes, sources: { planned, dropped } }, 'lanes.yaml', { TOKEN: 't' });
  assert.deepEqual(sources.get('planned'), {
    kind: 'http',
    url: 'https://planner/t?from={start}',
    headers: { Authorization: 'Bearer t' },
    timeoutMs: 60_000,
  });
  assert.deepEqual(sources.get('dropped'), { kind: 'files', pattern: '/drops/{startDate}/*.ndjson' });
});

test('every fault of a source is named, and no secret with it', () => {
  const cases: readonly [unknown, RegExp][] = [
    [{ a: {} }, /sources\.a: expected either url or files/],
    [{ a: { url: 'https://x/{start}', files: '/x/{start}' } }, /expected either url or files/],
    [{ a: { url: 'ftp://x/{start}' } }, /sources\.a\.url: expected an absolute http or https URL/],
    [{ a: { url: 'https://{start}.example/' } }, /in its path or query only/],
    [{ a: { url: 'https://x/${TOKEN}' } }, /names no part of the window/],
    [{ a: { url: 'https://x/{begin}' } }, /unknown placeholder \{begin\}/],
    [{ a: { url: 'https://u:${TOKEN}@x/{start}' } }, /expected no credentials/],
    [{ a: { url: 'https://x/{start}?k=${MISSING}' } }, /environment variable MISSING is not set/],
    [{ a: { files: 'drops/{start}' } }, /sources\.a\.files: expected an absolute path/],
    [{ a: { files: '/drops' } }, /names no part of the window/],
    [{ a: { files: '/drops/{start}', timeout: 'soon' } }, /sources\.a\.timeout/],
    [{ a: { url: 'https://x/{start}', headers: { A: 'a\nb' } } }, /line break/],
    [{ 'a/b': { files: '/drops/{start}' } }, /letters, digits/],
    [{ a: { path: '/x' } }, /unknown field path/],
    [[], /expected a mapping of source names/],
  ];
  for (const [sources, fault] of cases)
    assert.match(faultsOf(sources).join('\n'), fault, JSON.stringify(sources));
});
