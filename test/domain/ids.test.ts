import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  batchWorkflowId,
  laneTaskQueue,
  parseBatchWorkflowId,
  parseLaneTaskQueue,
  reservedPrefixOf,
} from '../../src/domain/ids.ts';
import { keyFault } from '../../src/domain/item.ts';

const anyName = fc.stringMatching(/^[!-.0-~]{1,40}$/);

describe('names in Temporal', () => {
  it('any batch and page is read back from its workflow ID', () => {
    fc.assert(
      fc.property(anyName, fc.nat(), (batchId, page) => {
        assert.deepEqual(parseBatchWorkflowId(batchWorkflowId(batchId, page)), { batchId, page });
      }),
    );
  });

  it('the first page goes by the batch alone', () => {
    assert.equal(batchWorkflowId('release-batch:17'), 'batch/release-batch:17');
    assert.equal(batchWorkflowId('release-batch:17', 0), 'batch/release-batch:17');
    assert.equal(batchWorkflowId('release-batch:17', 2), 'batch/release-batch:17/2');
  });

  for (const other of [
    'batch/',
    'batch/a/0',
    'batch/a/01',
    'batch/a/b',
    'batch/a/1/2',
    'release:a',
    'lane/a',
    '',
  ])
    it(`"${other}" is no batch`, () => {
      assert.equal(parseBatchWorkflowId(other), undefined);
    });

  it('any lane is read back from its task queue', () => {
    fc.assert(
      fc.property(anyName, (lane) => {
        assert.equal(parseLaneTaskQueue(laneTaskQueue(lane)), lane);
      }),
    );
    assert.equal(parseLaneTaskQueue('onelane'), undefined);
    assert.equal(parseLaneTaskQueue('other:releases'), undefined);
  });

  it('no key can be taken for a workflow of ours', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyName.map((name) => `batch/${name}`),
          fc.string(),
        ),
        (key) => {
          if (keyFault(key) === undefined) assert.equal(parseBatchWorkflowId(key), undefined);
        },
      ),
    );
    assert.equal(reservedPrefixOf('schedule/nightly'), 'schedule/');
    assert.equal(reservedPrefixOf('reconcile/releases/1'), 'reconcile/');
    assert.equal(reservedPrefixOf('lanes/1'), undefined);
  });
});
