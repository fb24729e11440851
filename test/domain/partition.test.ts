import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { triage } from '../../src/domain/admission.ts';
import { laneName, parseLaneName } from '../../src/domain/ids.ts';
import type { LanePolicy } from '../../src/domain/policy.ts';
import { laneConfig } from '../support/lane.ts';

type PartitionBy = LanePolicy['partitionBy'];

const BY_FIELD: PartitionBy = { field: 'payload.tenant.id', names: null };
const BY_NAME: PartitionBy = { field: 'partition', names: null };

function triageOne(partitionBy: PartitionBy, item: object, policy: Partial<LanePolicy> = {}) {
  const config = laneConfig('releases', 'http://upstream.example', { policy: { partitionBy, ...policy } });
  return triage({ batchId: 'b', page: 0, lane: 'releases', items: [item] }, config.policy);
}

function rejection(partitionBy: PartitionBy, item: object): string | undefined {
  const [first] = triageOne(partitionBy, { key: 'k', ...item }).rejected;
  return first?.admission === 'rejected' ? first.reason : undefined;
}

function admitted(partitionBy: PartitionBy, item: object, policy: Partial<LanePolicy> = {}) {
  const { candidates, rejected } = triageOne(partitionBy, item, policy);
  assert.deepEqual(rejected, []);
  assert(candidates[0]);
  return candidates[0];
}

describe('an item of a partitioned lane', () => {
  it('goes to the partition that it names', () => {
    const { item } = admitted(BY_NAME, { key: 'k', payload: {}, partition: 'acme' });
    assert.equal(item.partition, 'acme');
  });

  it('goes to the partition that its payload names', () => {
    const { item } = admitted(BY_FIELD, { key: 'k', payload: { tenant: { id: 'acme' } } });
    assert.equal(item.partition, 'acme');
  });

  it('has the same fingerprint whether its partition was named beside the payload or only in it', () => {
    const payload = { tenant: { id: 'acme' } };
    const derived = admitted(BY_FIELD, { key: 'k', payload });
    const named = admitted(BY_FIELD, { key: 'k', payload, partition: 'acme' });
    assert.equal(named.fingerprint, derived.fingerprint);
  });

  it('is another operation in another partition', () => {
    const [acme, globex] = ['acme', 'globex'].map((partition) =>
      admitted(BY_NAME, { key: 'k', payload: {}, partition }),
    );
    assert.notEqual(acme?.fingerprint, globex?.fingerprint);
  });

  it('gets a key with its partition in it, also where the partition was found in the payload', () => {
    const { item } = admitted(
      BY_FIELD,
      { payload: { id: 7, tenant: { id: 'acme' } } },
      { keyTemplate: 'release:{partition}:{payload.id}' },
    );
    assert.equal(item.key, 'release:acme:7');
  });

  for (const [what, partitionBy, item, reason] of [
    ['names none', BY_NAME, { payload: {} }, 'partition: expected the partition, got undefined'],
    [
      'has no such field',
      BY_FIELD,
      { payload: {} },
      'payload.tenant.id: expected the partition, got undefined',
    ],
    [
      'has a field on the way that is no mapping',
      BY_FIELD,
      { payload: { tenant: ['acme'] } },
      'payload.tenant.id: expected the partition, got undefined',
    ],
    [
      'has a number there',
      BY_FIELD,
      { payload: { tenant: { id: 7 } } },
      'payload.tenant.id: expected the partition, got number',
    ],
    [
      'has an empty one',
      BY_FIELD,
      { payload: { tenant: { id: '' } } },
      'payload.tenant.id: expected 1 to 255 printable ASCII characters, not beginning or ending with a space',
    ],
    [
      'has one that would reach into another lane',
      BY_FIELD,
      { payload: { tenant: { id: 'acme/eu' } } },
      'payload.tenant.id: may not contain "/", which separates lane and partition',
    ],
    [
      'has one that no list could be asked for',
      BY_FIELD,
      { payload: { tenant: { id: "o'neill" } } },
      "payload.tenant.id: may not contain quotes or a backslash, which lists can't be asked for",
    ],
    [
      'contradicts itself',
      BY_FIELD,
      { payload: { tenant: { id: 'acme' } }, partition: 'globex' },
      'payload.tenant.id: "acme" differs from partition "globex"',
    ],
    [
      'is of a partition without a credential, where credentials are listed',
      { field: 'partition', names: ['acme', 'globex'] },
      { payload: {}, partition: 'initech' },
      'partition: expected one of acme, globex, got "initech"',
    ],
    [
      'brings a partition to a lane without any',
      null,
      { payload: {}, partition: 'acme' },
      'partition: lane "releases" is not partitioned',
    ],
  ] as [string, PartitionBy, object, string][])
    it(`is rejected when it ${what}`, () => {
      assert.equal(rejection(partitionBy, item), reason);
    });

  it('whatever it is called, its lane is not that of any other', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme-ascii' }), (partition) => {
        if (rejection(BY_NAME, { payload: {}, partition }) !== undefined) return;
        assert.deepEqual(parseLaneName(laneName('releases', partition)), { lane: 'releases', partition });
      }),
    );
  });
});
