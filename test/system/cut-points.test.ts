import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Cut, CUTS, type CutStage, keyOf } from './support/cuts.ts';
import { type Side, withKinds } from './support/kinds.ts';
import { assertAllSucceeded } from './support/scene.ts';
import { ownNamespace, useTemporal } from './support/temporal.ts';

/** They wait for leases most of the time, so that some can do so side by side. */
const AT_ONCE = 4;

suite('the process that acts, killed with SIGKILL', { concurrency: AT_ONCE }, () => {
  const temporal = useTemporal();

  for (const [n, cut] of CUTS.entries())
    test(`${cut.name}: what became of the item is exactly known, and it was done at most once`, async () => {
      const own = await ownNamespace(temporal, `cut-${n}`);
      const lane = { timeout: '4s', lease: '9s', ...cut.lane };
      const faults = (kind: Side['kind']) => (cut.fault ? { [keyOf(kind)]: cut.fault } : {});
      await withKinds({ temporal: own, lane, faults }, async (kinds) => {
        const stage = { ...kinds, temporal: own, publish: () => publishOne(kinds) };
        await cut.kill(stage);
        // What was on its way from or to the killed process is lost with its connections.
        for (const way of [kinds.wayToTemporal, ...kinds.sides.map((side) => side.way)]) {
          way.sever();
          way.mend();
        }
        await kinds.scene.worker();
        for (const side of kinds.sides) await assertEnd(stage, side, cut);
      });
    });
});

/** One item on every side, and beside it two positions that are none of its own. */
async function publishOne({ scene, sides }: Pick<CutStage, 'scene' | 'sides'>): Promise<void> {
  await Promise.all(
    sides.map(async ({ kind }) => {
      const item = { key: keyOf(kind), payload: { kind }, correlationId: keyOf(kind) };
      const published = await scene.publish(kind, [item, item, { payload: 'has no key' }], { lane: kind });
      const admissions = published.admissions.map(({ admission }) => admission);
      assert.deepEqual(admissions, ['accepted', 'duplicate', 'rejected']);
    }),
  );
}

async function assertEnd({ scene }: CutStage, { kind, upstream }: Side, { ends }: Cut): Promise<void> {
  const end = ends[kind];
  const { counts } = await scene.settled(kind);
  const { published, accepted, duplicate, rejected, [end.state]: inThatState, open } = counts;
  assert.deepEqual(
    { published, accepted, duplicate, rejected, inThatState, open },
    { published: 3, accepted: 1, duplicate: 1, rejected: 1, inThatState: 1, open: 0 },
    kind,
  );
  const { state, receipt, reason } = await scene.record(keyOf(kind));
  assert.deepEqual(
    {
      state,
      arrivals: upstream.arrivals().length,
      effects: upstream.effects().length,
      found: receipt && (receipt.replayed ? 'replay' : receipt.foundBy),
    },
    end,
    kind,
  );
  if (state === 'uncertain') assert.match(reason ?? '', /WORKER_LOST/, kind);

  // The lane goes on, whatever it left behind.
  const key = `${kind}:later`;
  await scene.publish(`${kind}:later`, [{ key, payload: {}, correlationId: key }], { lane: kind });
  assertAllSucceeded(await scene.settled(`${kind}:later`), 1);
}
