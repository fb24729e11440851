import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../src/config.ts';
import { succeeded } from '../../src/lane/answers.ts';
import { type FunctionLane, type Lanes, checkLanes } from '../../src/library/lanes.ts';

const say = () => undefined;
const lane: FunctionLane = {
  owner: 'tests',
  upstream: {
    operations: { release: () => Promise.resolve(succeeded()) },
    idempotency: 'none',
  },
  limit: { requests: 5, per: '1s' },
  retry: { budget: 5 },
  deadline: 'none',
};

test('a lane in TypeScript is checked as one in lanes.yaml, every fault in one go', () => {
  const lanes = {
    releases: { ...lane, owner: '', limit: { requests: 0, per: 'soon' } },
    other: { ...lane, budgets: 1 },
  };
  assert.throws(
    () => checkLanes({ lanes }, {}, say),
    (error) => {
      assert.ok(error instanceof ConfigError);
      assert.deepEqual(
        error.faults.map(({ path }) => path),
        ['lanes.releases.owner', 'lanes.releases.limit.requests', 'lanes.releases.limit.per', 'lanes.other'],
      );
      return true;
    },
  );
});

test('lanes without anything that is needed are faults, not crashes', () => {
  for (const text of [
    '{"releases": null}',
    '{"releases": 1}',
    '{"releases": {}}',
    '{"releases": {"upstream": null}}',
  ]) {
    const lanes: Lanes = JSON.parse(text);
    assert.throws(() => checkLanes({ lanes }, {}, say), ConfigError, text);
  }
  assert.throws(() => checkLanes({}, {}, say), /expected lanes, or config/);
});

test('an operation that is no function is named', () => {
  const operations = { release: () => Promise.resolve(succeeded()), other: JSON.parse('"x"') };
  const lanes = { releases: { ...lane, upstream: { ...lane.upstream, operations } } };
  assert.throws(() => checkLanes({ lanes }, {}, say), /lanes\.releases\.upstream\.operations\.other/);
});

test('lanes with the same functions have the same fingerprint in every process', () => {
  assert.equal(fingerprint(), fingerprint());
});

function fingerprint(): string | undefined {
  return checkLanes({ lanes: { releases: lane } }, {}, say).config.lanes.get('releases')?.fingerprint;
}
