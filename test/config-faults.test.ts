import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loadConfig } from '../src/config.ts';
import { SOUND, faults, folder, lane, load } from './config-lane.ts';

describe('a wrong lanes.yaml', () => {
  for (const field of [
    'owner',
    'upstream',
    'upstream.baseUrl',
    'upstream.operations',
    'upstream.idempotency',
    'limit',
    'limit.requests',
    'limit.per',
    'retry',
    'retry.budget',
    'deadline',
  ])
    it(`${field} has no default`, () => {
      const found = faults(lane([field, undefined]));
      assert.equal(found.length, 1);
      assert.match(found[0] ?? '', new RegExp(`^lanes\\.releases\\.${field}: expected .*, got nothing$`));
    });

  for (const [path, value, problem] of [
    ['owner', '', 'expected the team or person to ask about this lane, got an empty text'],
    ['limit.requests', 'none', 'expected how many requests the upstream grants, at least 1, got "none"'],
    ['limit.requests', 0, 'expected how many requests the upstream grants, at least 1, got 0'],
    ['limit.per', '0s', 'expected a duration such as 500ms, 10s, 5m, 24h or 30d, got "0s"'],
    ['limit.share', '110%', 'expected a percentage from 1% to 100%, got "110%"'],
    ['maxInFlight', 1.5, 'expected a whole number of at least 1, got 1.5'],
    ['retry.budget', 0, 'expected a whole number of at least 1, or none, got 0'],
    ['deadline', 'never', 'expected a duration such as 24h, or none, got "never"'],
    ['upstream.timeout', 10, 'expected a duration such as 500ms, 10s, 5m, 24h or 30d, got 10'],
    ['upstream.operations', {}, 'expected at least one operation'],
    ['upstream.operations.release.method', 'GET', 'expected one of POST, PUT, PATCH, DELETE, got "GET"'],
    [
      'upstream.operations.release.path',
      '/a/{batch}',
      'unknown placeholder {batch}: expected {key}, {partition}, {operation}, {version} or {payload.…}',
    ],
    ['upstream.verdicts', { 600: 'refused' }, 'expected a status from 100 to 599'],
    [
      'upstream.verdicts',
      { 202: 'maybe' },
      'expected one of succeeded, throttled, unavailable, ambiguous, refused, laneFault, got "maybe"',
    ],
    [
      'upstream.idempotency',
      'yes',
      'expected a mapping with header, window, or none when the upstream takes no idempotency keys, got "yes"',
    ],
    ['upstream.idempotency', { window: 5 }, 'expected how long the upstream keeps a key, such as 24h, got 5'],
    ['upstream.receiptId', 'a..b', 'expected a field of the answer, such as id or data.id, got "a..b"'],
    ['key', 'batch/{payload.a}', "may not begin with batch/, which names onelane's own workflows"],
    ['key', 'release:{key}', 'may not contain {key}: the key is what it makes'],
    ['key', 'release:{operation}', 'names no {payload.…}, so that different items would share a key'],
    ['key', 'réleases:{payload.a}', 'expected printable ASCII only, as in every key'],
    ['limit.burts', 2, 'unknown field burts; known here: requests, per, burst, share, arrivalWithin'],
  ] as const)
    it(`${path} ${JSON.stringify(value)} is refused with what was expected and what came`, () => {
      const found = faults(lane([path, value]));
      assert.equal(found.length, 1, found.join('\n'));
      assert(found[0]?.endsWith(`: ${problem}`) && found[0].startsWith('lanes.releases.'), found[0]);
    });

  for (const name of ['a/b', 'a:b', '-a', 'é', 'x'.repeat(101)])
    it(`${name} is no name for a lane`, () => {
      const found = faults(SOUND.replace('releases:', `${JSON.stringify(name)}:`));
      assert.equal(found.length, 1);
      assert.match(found[0] ?? '', /: expected 1 to 100 letters, digits, dots, - or _/);
    });

  it('a lookup needs a path that names the item', () => {
    assert.deepEqual(faults(lane(['upstream.lookup', { path: 'effects/{key}' }])), [
      'lanes.releases.upstream.lookup.path: expected a path that begins with /, got "effects/{key}"',
    ]);
    assert.deepEqual(faults(lane(['upstream.lookup', { path: '/effects' }])), [
      'lanes.releases.upstream.lookup.path: names nothing of the item, so that every item would be looked up alike',
    ]);
    assert.deepEqual(faults(lane(['upstream.lookup', { path: '/effects/{key}', keyField: 'a..b' }])), [
      'lanes.releases.upstream.lookup.keyField: expected the field of the answer that repeats the key, such as key, got "a..b"',
    ]);
  });

  it('partitionBy needs independence, {partition} in the key template, and credentials that are set', () => {
    const partitionBy = {
      field: 'partition',
      independence: 'https://api.example/docs',
      headers: { acme: { Authorization: '${ACME}' } },
    };
    const partitioned = [
      ['partitionBy', partitionBy],
      ['key', '{partition}:{payload.a}'],
    ] satisfies [string, unknown][];
    assert.deepEqual(faults(lane(...partitioned), { ACME: 'x' }), []);
    assert.deepEqual(
      faults(lane(...partitioned, ['key', '{payload.a}'], ['partitionBy.idleAfter', 'soon'])),
      [
        'lanes.releases.partitionBy.idleAfter: expected a duration such as 500ms, 10s, 5m, 24h or 30d, got "soon"',
        'lanes.releases.key: expected {partition} in it, since the lane has partitionBy, got "{payload.a}"',
        'lanes.releases.partitionBy.headers.acme.Authorization: environment variable ACME is not set',
      ],
    );
    assert.deepEqual(faults(lane(...partitioned, ['partitionBy.idleAfter', '9s']), { ACME: 'x' }), [
      'lanes.releases.partitionBy.idleAfter: expected at least 10s, got 9s: the list of open items, which tells whether a lane is idle, may be some seconds old',
    ]);
    assert.match(
      faults(lane(['partitionBy', { field: 'tenant' }])).join('\n'),
      /independence: expected where .* got nothing/,
    );
  });

  it('every fault is listed at once: of fields, between fields, of the environment, in every lane', () => {
    const broken = lane(
      ['owner', undefined],
      ['limit.burst', 9],
      ['upstream.headers', { A: '${NOPE}', B: '${NOPE2}' }],
      ['upstream.baseUrl', 'nowhere'],
      ['lease', '1s'],
    );
    const found = faults(`${broken}  other: 5\nmore: 1\n`);
    assert.deepEqual(found.map((line) => line.slice(0, line.indexOf(':'))).sort(), [
      '',
      'lanes.other',
      'lanes.releases.lease',
      'lanes.releases.limit.burst',
      'lanes.releases.owner',
      'lanes.releases.upstream.baseUrl',
      'lanes.releases.upstream.headers.A',
      'lanes.releases.upstream.headers.B',
    ]);
  });

  it('the error names the file, counts its faults and gives each a line', () => {
    assert.throws(() => load(lane(['owner', undefined], ['deadline', 1])), {
      name: 'ConfigError',
      message: new RegExp(
        `^${join(folder, 'lanes.yaml')}: 2 faults\n  lanes\\.releases\\.owner: .*\n  lanes\\.releases\\.deadline: .*$`,
      ),
    });
  });
});

describe('a file that is no lanes.yaml', () => {
  it('bad YAML is refused with line and column, without quoting the file', () => {
    assert.match(faults('lanes:\n  a: [1, 2\n').join(), /^: line \d+, column \d+: /);
    for (const secret of ['*hunter2', '@hunter2', '!hunter2 x', '"hunter2', '[hunter2', 'x: hunter2']) {
      const found = faults(`lanes:\n  a: ${secret}\n`);
      assert(found.length > 0 && !found.join().includes('hunter2'), found.join('\n'));
    }
  });

  it('that is no YAML at all is told by its first faults, and how many there are', () => {
    const found = faults('a: b\n'.concat('c: d: e\n'.repeat(50)));
    assert.equal(found.length, 11);
    assert.match(found.at(-1) ?? '', /^: and \d+ more like these$/);
  });

  it('a name that stands twice is refused with line and column', () => {
    assert.deepEqual(faults('lanes: {}\nlanes: {}\n'), [': line 2, column 1: Map keys must be unique']);
    assert.match(
      faults(`${SOUND}\n    x: { 202: a, "202": b }\n`).join(),
      /^: line 13, column \d+: Map keys must be unique/,
    );
  });

  it('__proto__ is refused rather than ignored', () => {
    assert.deepEqual(faults('lanes:\n  __proto__: {}\n'), [': line 2, column 3: __proto__ is no name here']);
  });

  for (const [what, content, problem] of [
    ['an empty file', '', /expected lanes, got an empty file/],
    ['only comments', '# nothing\n', /expected lanes, got an empty file/],
    ['a list', '- a\n', /expected a mapping with lanes, sources, got a list/],
    ['no lanes', 'lanes: {}\n', /lanes: expected at least one lane/],
    ['lanes of nothing', 'lanes:\n', /lanes: expected a mapping of lane names, got nothing/],
    ['two documents', 'lanes: {}\n---\nlanes: {}\n', /line 2/],
    ['an unknown tag', 'lanes: !!js/function x\n', /line 1/],
    ['no UTF-8', Uint8Array.of(0x61, 0xff), /cannot be read/],
  ] as const)
    it(`${what} is refused`, () => {
      assert.match(faults(content).join('\n'), problem);
    });

  it('aliases that blow up a small file are refused', () => {
    const levels = Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i}, `.repeat(9)}]`);
    assert.match(faults(['a0: &a0 x', ...levels].join('\n')).join(), /too many/);
  });

  it('a missing file is named', () => {
    assert.throws(
      () => loadConfig(join(folder, 'none.yaml'), {}),
      /none\.yaml: 1 fault\n {2}cannot be read: ENOENT/,
    );
  });
});
