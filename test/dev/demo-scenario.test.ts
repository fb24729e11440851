import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { loadConfig } from '../../src/config.ts';
import { FAULTS, REFUSAL } from '../../src/dev/demo/faults.ts';
import { lanesYaml } from '../../src/dev/demo/folder.ts';
import { scenarioFrom } from '../../src/dev/demo/scenario.ts';
import { faultKind, faultSchema, faultScriptSchema } from '../../src/dev/upstream/faults.ts';
import { triage } from '../../src/domain/admission.ts';
import type { LanePolicy } from '../../src/domain/policy.ts';

const POLICY = policyOf(lanesYaml('http://127.0.0.1:8080'));
const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });
/** Stands for the kind of fault of a release that meets none. */
const CLEAN = 'behaves';

describe("the demo's batch", () => {
  it('is 60 items, for any seed: 57 of their own key, one told twice, one under a taken key, one invalid', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { items } = scenarioFrom(seed, 'run');
        const batch = { batchId: 'demo:run', lane: 'releases', items: [...items] };
        const { candidates, followers, rejected } = triage(batch, POLICY);
        assert.equal(candidates.length, 57);
        assert.equal(rejected.length, 1);
        const same = followers.filter(({ fingerprint, of }) => fingerprint === of.fingerprint);
        assert.deepEqual([followers.length, same.length], [2, 1]);
      }),
    );
  });

  it('is the same for the same seed, and another for another', () => {
    assert.deepEqual(scenarioFrom(7, 'run'), scenarioFrom(7, 'run'));
    assert.notDeepEqual(scenarioFrom(7, 'run').script, scenarioFrom(8, 'run').script);
  });

  it('shares no key with another run', () => {
    const first = scenarioFrom(1, 'a').items.map(({ key }) => key);
    const second = scenarioFrom(1, 'b').items.map(({ key }) => key);
    assert.deepEqual(
      first.filter((key) => second.includes(key)),
      [],
    );
  });
});

describe("the demo's faults", () => {
  it('are all met in every run, each by an accepted release of its own, for any seed', () => {
    const everyKind = [...FAULTS, REFUSAL].map(({ fault }) => faultKind(faultSchema.parse(fault)));
    fc.assert(
      fc.property(seeds, (seed) => {
        const { items, stories, script } = scenarioFrom(seed, 'run');
        assert.deepEqual(
          stories.slice(0, everyKind.length).map(({ kind }) => kind),
          everyKind,
        );
        assert.ok(stories.length > everyKind.length, 'chance brings a few more');
        assert.equal(new Set(stories.map(({ key }) => key)).size, stories.length);
        assert.deepEqual(Object.keys(script).toSorted(), stories.map(({ key }) => key).toSorted());
        assert.ok(faultScriptSchema.safeParse(script).success);
        const published = new Set(items.map(({ key }) => key));
        assert.ok(stories.every(({ key }) => published.has(key)));
      }),
    );
  });

  it('never meet two releases in a row, so that the lane recovers in between', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { items, stories } = scenarioFrom(seed, 'run');
        const kindOf = new Map(stories.map(({ key, kind }) => [key, kind]));
        const called = [...new Set(items.filter(({ notBefore }) => !notBefore).map(({ key }) => key ?? ''))];
        const kinds = called.map((key) => kindOf.get(key) ?? CLEAN);
        assert.deepEqual(
          kinds.filter((kind, i) => kind !== CLEAN && (kinds[i + 1] ?? CLEAN) !== CLEAN),
          [],
        );
      }),
    );
  });

  it('say how long their Retry-After asks to stay away, whatever its form', () => {
    const asked = new Map(scenarioFrom(1, 'run').stories.map(({ kind, askedMs }) => [kind, askedMs]));
    for (const form of ['seconds', 'imf-date', 'rfc850-date', 'asctime-date'])
      assert.equal(asked.get(`throttle:${form}`), 2_000, form);
    for (const kind of ['throttle:zero', 'throttle:none', 'status:503', 'reset'])
      assert.equal(asked.get(kind), 0, kind);
  });
});

function policyOf(lanes: string): LanePolicy {
  const folder = mkdtempSync(join(tmpdir(), 'onelane-demo-'));
  try {
    const file = join(folder, 'lanes.yaml');
    writeFileSync(file, lanes);
    const policy = loadConfig(file, {}).lanes.get('releases')?.policy;
    assert.ok(policy);
    return policy;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
