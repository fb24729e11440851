import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../src/config.ts';
import { configOfPartition } from '../src/domain/policy.ts';
import { SOUND, faults, lane, load, only } from './config-lane.ts';

describe('a sound lanes.yaml', () => {
  it('becomes a policy with every default filled in', () => {
    const { fingerprint, ...config } = only(SOUND);
    assert.match(fingerprint, /^[0-9a-f]{16}$/);
    assert.deepEqual(config, {
      policy: {
        lane: 'releases',
        owner: 'release-engineering',
        operations: { release: { method: 'POST', path: '/releases' } },
        keyTemplate: null,
        lookupPath: null,
        partitionBy: null,
        delivery: {
          idempotency: { header: 'Idempotency-Key', windowMs: 86_400_000 },
          lookup: null,
          verdicts: {},
          timeoutMs: 6_000,
          leaseMs: 15_000,
          retry: { budget: null, initialMs: 1_000, maxMs: 300_000 },
          deadlineMs: null,
          slotWaitMs: 75_000,
        },
      },
      baseUrl: 'https://api.example/v1',
      headers: {},
      secrets: [],
      partitions: {},
      limit: { requests: 5, perMs: 1_000, burst: 1, arrivalWithinMs: null },
      maxInFlight: 1,
      retryAfterMaxMs: 86_400_000,
      receiptId: 'id',
      dedupWindowMs: 2_592_000_000,
      // Only a partition's lane ends when idle.
      idleAfterMs: Number.MAX_SAFE_INTEGER,
    });
  });

  it('keeps what it says', () => {
    const config = only(
      lane(
        ['upstream.timeout', '2s'],
        ['upstream.idempotency', 'none'],
        ['upstream.verdicts', { 202: 'ambiguous' }],
        ['upstream.receiptId', 'data.id'],
        ['key', 'release:{payload.package}'],
        ['limit', { requests: 10, per: '1m', burst: 3, share: '55%', arrivalWithin: '50ms' }],
        ['maxInFlight', 5],
        ['retry', { budget: 7, initial: '2s', max: '1h' }],
        ['deadline', '24h'],
        ['lease', '5s'],
        ['dedupWindow', '7d'],
        ['retryAfterMax', '1h'],
      ),
    );
    assert.deepEqual(config.policy.delivery, {
      idempotency: null,
      lookup: null,
      verdicts: { 202: 'ambiguous' },
      timeoutMs: 2_000,
      leaseMs: 5_000,
      retry: { budget: 7, initialMs: 2_000, maxMs: 3_600_000 },
      deadlineMs: 86_400_000,
      slotWaitMs: 244_000,
    });
    assert.equal(config.policy.lookupPath, null);
    assert.equal(config.policy.keyTemplate, 'release:{payload.package}');
    assert.deepEqual(config.limit, { requests: 5, perMs: 60_000, burst: 3, arrivalWithinMs: 50 });
    assert.equal(config.maxInFlight, 5);
    assert.equal(config.receiptId, 'data.id');
    assert.equal(config.dedupWindowMs, 604_800_000);
    assert.equal(config.retryAfterMaxMs, 3_600_000);
  });

  it('is frozen to its leaves, and its policy is plain JSON', () => {
    const config = only(SOUND);
    assert(
      Object.isFrozen(config) &&
        Object.isFrozen(config.policy.delivery.retry) &&
        Object.isFrozen(config.limit),
    );
    assert.deepEqual(JSON.parse(JSON.stringify(config.policy)), config.policy);
  });

  it('may have two lanes to the same upstream', () => {
    const other = SOUND.replace('\nlanes:\n', '').replace('releases:', 'retractions:');
    assert.deepEqual([...load(SOUND + other).lanes.keys()], ['releases', 'retractions']);
  });

  it('the example is sound', () => {
    const config = loadConfig('examples/lanes.yaml', { UPSTREAM_URL: 'http://127.0.0.1:8080/' }).lanes.get(
      'releases',
    );
    assert.equal(config?.baseUrl, 'http://127.0.0.1:8080');
    assert.deepEqual(config?.limit, { requests: 5, perMs: 1_000, burst: 1, arrivalWithinMs: null });
  });
});

describe('a lookup', () => {
  it('becomes a path for each item, and where its answer repeats the key', () => {
    const { policy } = only(lane(['upstream.lookup', { path: '/effects/{key}' }]));
    assert.equal(policy.lookupPath, '/effects/{key}');
    assert.deepEqual(policy.delivery.lookup, { keyField: 'key' });
    const named = only(lane(['upstream.lookup', { path: '/by/{payload.a}', keyField: 'data.ref' }]));
    assert.deepEqual(named.policy.delivery.lookup, { keyField: 'data.ref' });
  });

  it('gives an attempt the time of a turn more', () => {
    const without = only(SOUND).policy.delivery;
    const { slotWaitMs } = only(lane(['upstream.lookup', { path: '/effects/{key}' }])).policy.delivery;
    assert.equal(slotWaitMs, without.slotWaitMs + 2 * (1_000 + without.timeoutMs));
  });
});

describe('a partitioned lane', () => {
  const partitioned = lane(
    ['key', '{partition}:{payload.id}'],
    ['upstream.headers', { 'X-Client': 'onelane', Authorization: 'none' }],
    ['partitionBy.field', 'payload.tenant'],
    ['partitionBy.independence', 'https://api.example/docs#quotas'],
    [
      'partitionBy.headers',
      { acme: { Authorization: 'Bearer ${ACME}' }, globex: { Authorization: 'Bearer ${GLOBEX}' } },
    ],
  );
  const config = only(partitioned, { ACME: 'a-secret', GLOBEX: 'g-secret' });

  it('takes the partitions whose credentials it lists, and no others', () => {
    assert.deepEqual(config.policy.partitionBy, { field: 'payload.tenant', names: ['acme', 'globex'] });
    assert.equal(config.idleAfterMs, 300_000);
  });

  it('takes any partition where it lists no credentials', () => {
    const { policy, idleAfterMs } = only(
      lane(['partitionBy', { field: 'partition', independence: 'docs', idleAfter: '10s' }]),
    );
    assert.deepEqual(policy.partitionBy, { field: 'partition', names: null });
    assert.equal(idleAfterMs, 10_000);
  });

  it('gives any partition the headers of the lane where it lists no credentials', () => {
    const open = only(lane(['partitionBy', { field: 'partition', independence: 'docs' }]));
    assert.deepEqual(configOfPartition(open, 'constructor'), open);
  });

  it('gives each partition its own credential over the headers of the lane, to be blanked like any other', () => {
    const acme = configOfPartition(config, 'acme');
    assert.deepEqual(acme?.headers, { 'X-Client': 'onelane', Authorization: 'Bearer a-secret' });
    assert.deepEqual(acme.secrets, ['a-secret']);
  });

  it('knows no partition that it lists no credential for, whatever it is called', () => {
    for (const name of ['initech', 'constructor', '__proto__', 'toString'])
      assert.equal(configOfPartition(config, name), undefined);
  });

  it('knows no lane that is partitioned otherwise than it says', () => {
    assert.equal(configOfPartition(config, null), undefined);
    assert.equal(configOfPartition(only(SOUND), 'acme'), undefined);
  });

  it('keeps secrets out of its policy and out of its fingerprint', () => {
    assert(!JSON.stringify(config.policy).includes('secret'));
    assert.equal(only(partitioned, { ACME: 'a2', GLOBEX: 'g2' }).fingerprint, config.fingerprint);
  });
});

describe('the fingerprint', () => {
  for (const [path, value] of [
    ['limit.requests', 6],
    ['maxInFlight', 2],
    ['lease', '20s'],
    ['upstream.baseUrl', 'https://api.example/v2'],
    ['upstream.headers', { 'X-Client': 'onelane' }],
    ['partitionBy', { field: 'partition', independence: 'docs' }],
  ] as const)
    it(`tells replicas apart whose ${path} differs`, () => {
      assert.notEqual(only(lane([path, value])).fingerprint, only(SOUND).fingerprint);
    });

  it('is the same whatever the order in which the fields are written', () => {
    const reordered = SOUND.replace('requests: 5, per: 1s', 'per: 1s, requests: 5');
    assert.equal(only(reordered).fingerprint, only(SOUND).fingerprint);
  });
});

describe('what fields say about each other', () => {
  for (const [what, changes, fault] of [
    [
      'burst above requests',
      [['limit.burst', 6]],
      'limit.burst: expected at most the 5 requests of the limit, got 6',
    ],
    [
      'maxInFlight above our share',
      [
        ['limit.share', '50%'],
        ['maxInFlight', 3],
      ],
      'maxInFlight: expected at most the 2 requests of the limit, got 3',
    ],
    [
      'a share of nothing',
      [['limit.share', '19%']],
      'limit.share: expected at least 1 request, got 19% of 5, rounded down',
    ],
    [
      'initial above max',
      [['retry.initial', '6m']],
      'retry.initial: expected at most retry.max (5m), got 6m',
    ],
    [
      'arrivalWithin above timeout',
      [['limit.arrivalWithin', '7s']],
      'limit.arrivalWithin: expected at most upstream.timeout (6s), got 7s',
    ],
    [
      'a lease that two timeouts do not fit',
      [['lease', '12999ms']],
      'lease: expected at least twice upstream.timeout and 1s (13s), got 12999ms: a call leaves only while its timeout ends before the lease could',
    ],
  ] as [string, [string, unknown][], string][])
    it(`${what} is refused`, () => {
      assert.deepEqual(faults(lane(...changes)), [`lanes.releases.${fault}`]);
    });

  it('what just fits is taken', () => {
    assert.deepEqual(
      faults(
        lane(
          ['limit.burst', 5],
          ['maxInFlight', 5],
          ['retry.initial', '5m'],
          ['limit.arrivalWithin', '6s'],
          ['lease', '13s'],
        ),
      ),
      [],
    );
    assert.equal(only(lane(['limit.share', '20%'])).limit.requests, 1);
  });
});
