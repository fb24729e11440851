import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  BatchIdTakenError,
  BatchRefusedError,
  type LongBatch,
  type PublishOptions,
  type PublishedPage,
  publishPages,
  survey,
} from '../../src/client.ts';
import { describeOrUndefined } from '../../src/client/key-holder.ts';
import { batchWorkflowId } from '../../src/domain/ids.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

/** Five of them fill a page. */
function bigItems(name: string, count: number): { key: string; payload: object }[] {
  return Array.from({ length: count }, (_, n) => ({
    key: `${name}:${n}`,
    payload: { n, text: 'x'.repeat(200_000) },
  }));
}

async function* stream(items: Iterable<unknown>): AsyncGenerator {
  yield* items;
}

async function published(batch: LongBatch, options?: PublishOptions): Promise<PublishedPage[]> {
  const pages: PublishedPage[] = [];
  for await (const page of publishPages(stage.client, batch, options)) pages.push(page);
  return pages;
}

function answers(pages: readonly PublishedPage[]): string[] {
  return pages.flatMap(({ admissions }) =>
    admissions.map(({ position, admission }) => `${position} ${admission}`),
  );
}

async function inputOf(batchId: string, page: number): Promise<unknown> {
  const history = await stage.client.workflow.getHandle(batchWorkflowId(batchId, page)).fetchHistory();
  const [payload] = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const { pages, total } = JSON.parse(Buffer.from(payload?.data ?? []).toString());
  return { pages, total };
}

test('a batch of several pages is answered by positions in the whole, and again the same, as list or stream', async () => {
  await withLane(stage, 'long', { open: false }, async () => {
    const items: unknown[] = bigItems('long', 12);
    items[7] = 'broken';
    items[10] = items[9];
    const batch = { batchId: 'long', lane: 'long', items };
    const first = await published(batch);
    assert.deepEqual(
      first.map(({ page, workflowId, whole }) => [page, workflowId, whole?.pages, whole?.total]),
      [
        [0, 'batch/long', 3, 12],
        [1, 'batch/long/1', 3, 12],
        [2, 'batch/long/2', 3, 12],
      ],
    );
    const expected = items.map(
      (_, n) => `${n} ${n === 7 ? 'rejected' : n === 10 ? 'duplicate' : 'accepted'}`,
    );
    assert.deepEqual(answers(first), expected);
    assert.deepEqual(first[1]?.admissions[5], {
      position: 10,
      key: 'long:9',
      admission: 'duplicate',
      state: 'waiting',
      of: 9,
    });
    assert.deepEqual(answers(await published(batch)), expected);
    assert.deepEqual(answers(await published({ ...batch, items: stream(items) })), expected);
  });
});

test('each page tells how many there are; of a stream, the last one does', async () => {
  await withLane(stage, 'told', { open: false }, async () => {
    await published({ batchId: 'told', lane: 'told', items: bigItems('told', 6) });
    assert.deepEqual(await inputOf('told', 0), { pages: 2, total: 6 });
    assert.deepEqual(await inputOf('told', 1), { pages: 2, total: 6 });

    const last = await published({ batchId: 'untold', lane: 'told', items: stream(bigItems('untold', 6)) });
    assert.deepEqual(await inputOf('untold', 0), { pages: undefined, total: undefined });
    assert.deepEqual(await inputOf('untold', 1), { pages: 2, total: 6 });
    assert.deepEqual(
      last.map(({ whole }) => whole?.pages),
      [undefined, 2],
    );
  });
});

test('a batch that differs on a later page, or is longer, is refused before any of its items is started', async () => {
  await withLane(stage, 'differs', { open: false }, async () => {
    const items = bigItems('differs', 6);
    const batch = { batchId: 'differs', lane: 'differs', items: items.slice(0, 5) };
    await published(batch);
    await assert.rejects(published({ ...batch, items }), BatchIdTakenError);
    assert.equal(await describeOrUndefined(stage.client, 'batch/differs/1'), undefined);
    assert.equal(await describeOrUndefined(stage.client, 'differs:5'), undefined);
  });
});

test('a stream that differs from what its ID stands for is refused before any of its items is started', async () => {
  await withLane(stage, 'streamed', { open: false }, async () => {
    const batch = { batchId: 'streamed', lane: 'streamed' };
    await published({ ...batch, items: bigItems('streamed', 5) });
    await assert.rejects(published({ ...batch, items: stream(bigItems('other', 15)) }), BatchIdTakenError);
    for (const workflowId of ['batch/streamed/1', 'batch/streamed/2', 'other:5', 'other:10'])
      assert.equal(await describeOrUndefined(stage.client, workflowId), undefined, workflowId);
  });
});

test('of two batches of one ID, published at the same time, one stands, and nothing of the other is started', async () => {
  await withLane(stage, 'race', { open: false }, async () => {
    const same = bigItems('race-same', 5);
    for (const [name, firstPage] of Object.entries({ differ: [], 'differ-later': same })) {
      const sides = ['a', 'b'].map((side) => [...firstPage, ...bigItems(`${name}-${side}`, 15)]);
      const ended = await Promise.allSettled(
        sides.map((items) => published({ batchId: name, lane: 'race', items })),
      );
      const refused = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      assert.deepEqual(
        refused.map((error) => error instanceof BatchIdTakenError),
        [true],
        name,
      );
      const lost = ended[0]?.status === 'rejected' ? 'a' : 'b';
      for (const n of [0, 5, 10])
        assert.equal(await describeOrUndefined(stage.client, `${name}-${lost}:${n}`), undefined, name);
    }
  });
});

test('what changes between counting and publishing is refused, and its last page is not published', async () => {
  await withLane(stage, 'changes', { open: false }, async () => {
    const items = bigItems('changes', 6);
    const whole = await survey('changes', items);
    assert.ok(whole);
    const changed = stream([...items.slice(0, 5), { key: 'changes:other', payload: {} }]);
    await assert.rejects(
      published({ batchId: 'changes', lane: 'changes', items: changed, whole }),
      new BatchRefusedError('items: they changed while they were read; publish them again'),
    );
    assert.equal(await describeOrUndefined(stage.client, 'changes:other'), undefined);
  });
});

test('of two pages that name one key, the earlier has it, however they are published', async () => {
  await withLane(stage, 'shared', { open: false }, async () => {
    const items: unknown[] = bigItems('shared', 15);
    items[5] = { key: 'shared:0', payload: 'other' };
    items[10] = items[0];
    const pages = await published({ batchId: 'shared', lane: 'shared', items });
    const ofKey = pages.flatMap(({ admissions }) => admissions).filter(({ key }) => key === 'shared:0');
    assert.deepEqual(
      ofKey.map(({ position, admission }) => [position, admission]),
      [
        [0, 'accepted'],
        [5, 'conflict'],
        [10, 'duplicate'],
      ],
    );
  });
});

test('with no worker, every page is durable and pending after one wait, and is answered when asked again', async () => {
  await withLane(stage, 'asleep', { open: false }, async () => {
    const items = bigItems('asleep', 22);
    const batch = { batchId: 'asleep', lane: 'asleep', items };
    await stage.stopDispatch();
    const asleep = await published(batch, { waitMs: 1_000 });
    assert.deepEqual(
      answers(asleep),
      items.map((_, n) => `${n} pending`),
    );
    for (const { workflowId } of asleep) assert.ok(await describeOrUndefined(stage.client, workflowId));
    await assert.rejects(
      published({ ...batch, items: stream([{ key: 'other', payload: 1 }]) }, { waitMs: 0 }),
      BatchIdTakenError,
    );
    await stage.startDispatch();
    assert.deepEqual(
      answers(await published(batch)),
      items.map((_, n) => `${n} accepted`),
    );
  });
});

test('a stream is read no further ahead than a few pages of what is answered', async () => {
  await withLane(stage, 'ahead', { open: false }, async () => {
    await stage.stopDispatch();
    let read = 0;
    async function* counted(): AsyncGenerator {
      for (const item of bigItems('ahead', 100)) {
        read += 1;
        yield item;
      }
    }
    const publishing = published({ batchId: 'ahead', lane: 'ahead', items: counted() });
    await until('the first pages are durable', async () =>
      Boolean(await describeOrUndefined(stage.client, 'batch/ahead/3')),
    );
    // Eight pages are held, one is being filled, and one waits to learn whether it is the last.
    assert.ok(read <= 10 * 5 + 1, `${read} were read`);
    await stage.startDispatch();
    assert.equal((await publishing).length, 20);
    assert.equal(read, 100);
  });
});

test('an empty batch is refused, and so is one for a lane that nobody knows, by its first page', async () => {
  await assert.rejects(
    published({ batchId: 'empty', lane: 'nowhere', items: stream([]) }),
    new BatchRefusedError('items: expected at least one item, got an empty batch'),
  );
  await assert.rejects(
    published({ batchId: 'nowhere', lane: 'nowhere', items: bigItems('nowhere', 6) }),
    /lane: expected one of .*, got "nowhere"/,
  );
});
