import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  type Candidate,
  type KeyHolder,
  type Triage,
  admitFollower,
  admitTaken,
  triage,
} from '../../src/domain/admission.ts';
import { fingerprint } from '../../src/domain/judge-item.ts';
import { type Admission, type Batch, countBatch } from '../../src/domain/batch.ts';
import { ITEM_STATES } from '../../src/domain/item.ts';
import type { LanePolicy } from '../../src/domain/policy.ts';
import { policyWith } from './account.ts';

const POLICY: LanePolicy = {
  lane: 'releases',
  owner: 'release-engineering',
  operations: { release: { method: 'POST', path: '/packages/{payload.package}/releases' } },
  keyTemplate: 'release:{payload.package}:{version}',
  lookupPath: null,
  partitionBy: null,
  delivery: policyWith(),
};
const ITEM = { key: 'release:a:1', payload: { package: 'a' } };

function batchOf(items: unknown[]): Batch {
  return { batchId: '17', lane: 'releases', items };
}

function sort(items: unknown[], changes: Partial<LanePolicy> = {}): Triage {
  return triage(batchOf(items), { ...POLICY, ...changes });
}

/** Why an item is rejected, or `none`. */
function reason(item: unknown, changes: Partial<LanePolicy> = {}): string {
  const [rejected] = sort([item], changes).rejected;
  return rejected?.admission === 'rejected' ? rejected.reason : 'none';
}

function only(triaged: Triage): Candidate {
  const [candidate] = triaged.candidates;
  assert(candidate);
  return candidate;
}

describe('an item that is rejected', () => {
  const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`);
  for (const [name, item, fault] of [
    ['no object', 5, 'item: Invalid input: expected object, received number'],
    ['no payload', { key: 'a' }, 'payload: required: any JSON value'],
    ['an empty key', { ...ITEM, key: '' }, 'key: expected 1 to 255 characters, got an empty text'],
    ['a long key', { ...ITEM, key: 'x'.repeat(256) }, 'key: expected at most 255 bytes, got 256'],
    ['a key beyond ASCII', { ...ITEM, key: 'é' }, 'key: expected printable ASCII only'],
    [
      'a reserved key',
      { ...ITEM, key: 'batch/17' },
      `key: may not begin with "batch/", which names onelane's own workflows`,
    ],
    [
      'an unknown operation',
      { ...ITEM, operation: 'toString' },
      'operation: expected one of release, got "toString"',
    ],
    [
      'a notBefore that is no instant',
      { ...ITEM, notBefore: 'tomorrow' },
      'notBefore: expected an instant such as 2026-08-12T17:00:00Z, with Z or an offset',
    ],
    [
      'a line break in a header',
      { ...ITEM, correlationId: 'a\r\nb' },
      'correlationId: expected 1 to 255 printable ASCII characters, not beginning or ending with a space',
    ],
    ['a partition', { ...ITEM, partition: 'eu' }, 'partition: lane "releases" is not partitioned'],
    [
      'an integer beyond 2^53',
      { ...ITEM, payload: { package: 'a', size: 2 ** 60 } },
      'payload.size: integer beyond 2^53 (1152921504606847000), which JSON readers round; send it as a string',
    ],
    [
      'a number beyond any double',
      { ...ITEM, payload: JSON.parse('{"package":"a","x":1e400}') },
      'payload.x: expected a finite number, got Infinity',
    ],
    [
      'a lone surrogate',
      { ...ITEM, payload: { package: '\ud83d' } },
      'payload.package: text with a lone surrogate, which UTF-8 cannot carry',
    ],
    ['5,000 levels', { ...ITEM, payload: deep }, /^payload(\[0\])+: nested deeper than 64 levels$/],
    [
      'more than 256 KiB',
      { ...ITEM, payload: { package: 'x'.repeat(262_131) } },
      'payload: expected at most 262144 bytes (256 KiB), got 262145; store it elsewhere and send a reference',
    ],
    [
      'nothing for the path',
      { ...ITEM, payload: {} },
      /^payload\.package: missing, needed by the path template/,
    ],
    [
      'a step for the path',
      { ...ITEM, payload: { package: '..' } },
      /^payload\.package: \.\. is a step in a path, which a URL cannot carry/,
    ],
    ['nothing for its key', { payload: { package: 'a' } }, 'version: missing, needed by the key template'],
    [
      'a key that is none once derived',
      { payload: { package: 'é' }, version: 1 },
      'key derived as "release:é:1": expected printable ASCII only',
    ],
    ['a line that could not be read', { unreadable: 'line 3: expected , or }' }, 'line 3: expected , or }'],
  ] as const)
    it(`for ${name} names the field`, () => {
      if (typeof fault === 'string') assert.equal(reason(item), fault);
      else assert.match(reason(item), fault);
    });

  it('for no key says that the lane has no template', () => {
    assert.equal(
      reason({ payload: { package: 'a' } }, { keyTemplate: null }),
      'key: required, since lane "releases" has no key template',
    );
  });

  it('for no operation, where the lane has several, names them', () => {
    const operations = { ...POLICY.operations, revoke: { method: 'DELETE', path: '/releases' } } as const;
    assert.equal(reason(ITEM, { operations }), 'operation: expected one of release, revoke, got none');
  });

  it('keeps the key that it was given, so that its publisher finds it again', () => {
    assert.deepEqual(sort([{ ...ITEM, priority: 9 }]).rejected, [
      {
        position: 0,
        key: 'release:a:1',
        admission: 'rejected',
        reason: 'priority: Too big: expected number to be <=5',
      },
    ]);
  });

  it('is rejected in few words, however much it holds: 500 answers must fit a result', () => {
    const long = 'x'.repeat(200_000);
    for (const item of [
      { ...ITEM, [long]: 1 },
      { ...ITEM, payload: { [long]: 2 ** 60 } },
      { payload: { package: long }, version: 1 },
      { unreadable: long, key: long },
    ]) {
      const rejected = sort([item]).rejected;
      assert(JSON.stringify(rejected).length < 1_000);
    }
  });
});

describe('a valid item', () => {
  it('has its operation, its path and its key settled', () => {
    const { item, path, position } = only(sort([{ payload: { package: 'a/b' }, version: 7 }]));
    assert.deepEqual(item, {
      key: 'release:a/b:7',
      operation: 'release',
      version: 7,
      payload: { package: 'a/b' },
    });
    assert.equal(path, '/packages/a%2Fb/releases');
    assert.equal(position, 0);
  });

  it('has the path of its lookup settled, where its lane has one', () => {
    assert.equal(only(sort([ITEM])).lookupPath, null);
    const looked = sort([ITEM], { lookupPath: '/effects/{key}' });
    assert.equal(only(looked).lookupPath, '/effects/release%3Aa%3A1');
    assert.match(
      reason(ITEM, { lookupPath: '/effects/{payload.id}' }),
      /^payload.id: missing.*\(path of the lookup\)$/,
    );
  });

  it('keeps the key that it brings, though the lane has a template', () => {
    assert.equal(only(sort([{ ...ITEM, key: 'mine' }])).item.key, 'mine');
  });

  it('may hold 256 KiB', () => {
    assert.equal(reason({ ...ITEM, payload: { package: 'x'.repeat(262_130) } }), 'none');
  });
});

describe('a fingerprint', () => {
  const { item } = only(sort([ITEM]));
  const same = fingerprint('releases', item);

  it('is that of lane, partition, operation, version and payload', () => {
    const others = [
      fingerprint('other', item),
      fingerprint('releases', { ...item, partition: 'eu' }),
      fingerprint('releases', { ...item, operation: 'revoke' }),
      fingerprint('releases', { ...item, version: 1 }),
      fingerprint('releases', { ...item, version: '1' }),
      fingerprint('releases', { ...item, payload: { package: 'b' } }),
    ];
    assert.equal(new Set([same, ...others]).size, 7);
  });

  it('is not touched by who asks, when, and how urgently', () => {
    const asked = { ...item, key: 'k', priority: 1, correlationId: 'c', notBefore: '2026-08-12T17:00:00Z' };
    assert.equal(fingerprint('releases', asked), same);
  });

  it('is the same for any order of names in the payload', () => {
    const payload = { package: 'a', toJSON: 1, nested: { b: 1, a: 2 } };
    const turned = { nested: { a: 2, b: 1 }, toJSON: 1, package: 'a' };
    assert.equal(
      fingerprint('releases', { ...item, payload }),
      fingerprint('releases', { ...item, payload: turned }),
    );
  });
});

describe('a key that is taken', () => {
  const candidate = only(sort([ITEM]));
  const held: KeyHolder = {
    kind: 'item',
    fingerprint: candidate.fingerprint,
    batch: 'batch/16',
    position: 4,
    state: 'sending',
  };
  const at = { position: 0, key: ITEM.key };

  for (const [name, holder, admission] of [
    [
      'by the same operation is a duplicate, with its state',
      held,
      { ...at, admission: 'duplicate', state: 'sending', batch: 'batch/16' },
    ],
    [
      'by another operation is a conflict',
      { ...held, fingerprint: 'other' },
      { ...at, admission: 'conflict', reason: 'key: taken by another operation, of batch/16' },
    ],
    [
      'by another type of workflow is a conflict that names it',
      { kind: 'foreign', workflowType: 'orderFood' },
      { ...at, admission: 'conflict', reason: 'key: taken by a workflow of type orderFood' },
    ],
    [
      'by this very position of an earlier run is what it was then: accepted',
      { ...held, batch: 'batch/17', position: 0 },
      { ...at, admission: 'accepted' },
    ],
    [
      'by another position of this batch is a duplicate',
      { ...held, batch: 'batch/17', position: 3 },
      { ...at, admission: 'duplicate', state: 'sending', batch: 'batch/17' },
    ],
    ['by nobody any more is asked for again', { kind: 'nobody' }, undefined],
  ] as const)
    it(name, () => {
      assert.deepEqual(admitTaken(candidate, holder, batchOf([ITEM])), admission);
    });

  it('by the same position of another page is a duplicate', () => {
    const ofFirstPage = { ...held, batch: 'batch/17', position: 0 };
    assert.equal(admitTaken(candidate, ofFirstPage, { ...batchOf([ITEM]), page: 1 })?.admission, 'duplicate');
  });
});

describe('a key that stands twice in a batch', () => {
  const other = { ...ITEM, payload: { package: 'a', other: true } };
  const { followers, candidates } = sort([{ bad: 1 }, ITEM, ITEM, other]);
  const [first] = candidates;
  const [twin, changed] = followers;
  assert(first && twin && changed);
  const accepted: Admission = { position: 1, key: ITEM.key, admission: 'accepted' };

  it('is asked for by its first valid position alone', () => {
    assert.deepEqual(
      candidates.map(({ position }) => position),
      [1],
    );
    assert.deepEqual(
      followers.map(({ position, of }) => [position, of.position]),
      [
        [2, 1],
        [3, 1],
      ],
    );
  });

  it('is a duplicate of the position that got it, or a conflict with that', () => {
    assert.deepEqual(admitFollower(twin, accepted, undefined), {
      position: 2,
      key: ITEM.key,
      of: 1,
      admission: 'duplicate',
      state: 'waiting',
    });
    assert.deepEqual(admitFollower(changed, accepted, undefined), {
      position: 3,
      key: ITEM.key,
      of: 1,
      admission: 'conflict',
      reason: 'key: taken by another operation',
    });
  });

  it('is compared with whoever holds the key in the end, not with the first position', () => {
    const conflict: Admission = { position: 1, key: ITEM.key, admission: 'conflict', reason: '' };
    const holder: KeyHolder = {
      kind: 'item',
      fingerprint: changed.fingerprint,
      batch: 'batch/16',
      position: 0,
      state: 'succeeded',
    };
    assert.equal(admitFollower(twin, conflict, holder).admission, 'conflict');
    const settled = admitFollower(changed, conflict, holder);
    assert(settled.admission === 'duplicate');
    assert.equal(settled.state, 'succeeded');
    const foreign = admitFollower(changed, conflict, { kind: 'foreign', workflowType: 'orderFood' });
    assert(foreign.admission === 'conflict');
    assert.match(foreign.reason, /orderFood/);
  });

  it('is pending while the first position is', () => {
    const pending: Admission = { position: 1, key: ITEM.key, admission: 'pending' };
    assert.deepEqual(admitFollower(twin, pending, undefined), {
      position: 2,
      key: ITEM.key,
      admission: 'pending',
    });
  });
});

describe('a batch of anything', () => {
  const anyItem = fc.record(
    {
      key: fc.oneof({ weight: 5, arbitrary: fc.constantFrom('a', 'b', 'c', '', 'batch/x') }, fc.anything()),
      payload: fc.oneof(fc.constantFrom({ package: 'a' }, { package: 'b' }, {}), fc.anything()),
      version: fc.oneof(fc.constantFrom(1, 2, '1'), fc.anything()),
      operation: fc.constantFrom('release', 'other'),
    },
    { requiredKeys: ['payload'] },
  );
  const anyHolder: fc.Arbitrary<KeyHolder> = fc.oneof(
    fc.constant<KeyHolder>({ kind: 'nobody' }),
    fc.constant<KeyHolder>({ kind: 'foreign', workflowType: 'orderFood' }),
    fc.record({
      kind: fc.constant('item'),
      fingerprint: fc.constantFrom('other', 'same'),
      batch: fc.constantFrom('batch/16', 'batch/17'),
      position: fc.nat(3),
      state: fc.constantFrom(...ITEM_STATES),
    }),
  );

  it('is answered at every position exactly once, whoever holds the keys, and the counts add up', () => {
    const anyItems = fc.array(fc.oneof({ weight: 4, arbitrary: anyItem }, fc.anything()), {
      minLength: 1,
      maxLength: 20,
      size: 'max',
    });
    fc.assert(
      fc.property(anyItems, fc.array(anyHolder, { minLength: 20, maxLength: 20 }), (items, holders) => {
        const batch = batchOf(items);
        const { rejected, candidates, followers } = triage(batch, POLICY);
        const answers = new Map(candidates.map((candidate) => [candidate.position, answerTo(candidate)]));
        function answerTo(candidate: Candidate): { admission: Admission; holder: KeyHolder | undefined } {
          const holder = holderOf(candidate);
          const admission = admitTaken(candidate, holder, batch) ?? {
            position: candidate.position,
            key: candidate.item.key,
            admission: 'accepted',
          };
          return { admission, holder: holder.kind === 'nobody' ? undefined : holder };
        }
        function holderOf({ position, fingerprint: own }: Candidate): KeyHolder {
          const holder = holders[position] ?? { kind: 'nobody' };
          return holder.kind === 'item' && holder.fingerprint === 'same'
            ? { ...holder, fingerprint: own }
            : holder;
        }
        const followed = followers.map((follower) => {
          const first = answers.get(follower.of.position);
          assert(first);
          return admitFollower(follower, first.admission, first.holder);
        });
        const admissions = [
          ...rejected,
          ...[...answers.values()].map(({ admission }) => admission),
          ...followed,
        ];

        const positions = admissions.map(({ position }) => position).sort((a, b) => a - b);
        assert.deepEqual(
          positions,
          items.map((_, position) => position),
        );
        const accepted = admissions.filter(({ admission }) => admission === 'accepted');
        assert.equal(new Set(accepted.map(({ key }) => key)).size, accepted.length);
        const counts = countBatch(
          admissions,
          Object.fromEntries(accepted.map(({ key }) => [String(key), 'waiting'])),
        );
        assert.equal(
          counts.accepted + counts.duplicate + counts.conflict + counts.rejected + counts.pending,
          items.length,
        );
        assert.equal(counts.open, counts.accepted);
      }),
      { numRuns: 1_000 },
    );
  });
});
