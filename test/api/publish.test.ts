import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { BatchAnswerSchema, BatchItemsSchema, PublishedSchema } from '../../src/api/batch-answers.ts';
import { ItemRecordSchema } from '../../src/api/item-answers.ts';
import { keyFault } from '../../src/domain/item.ts';
import { ask, publishOver } from '../support/api.ts';
import { useApi } from '../support/api-stage.ts';
import { withLane } from '../support/scene.ts';
import { batchEnd } from '../support/wait.ts';

const api = useApi();

test('a batch is answered per item, and followed by its location to the end', async () => {
  await withLane(api.stage, 'http', {}, async () => {
    const items = [
      { key: 'http:a', payload: { n: 1 } },
      { payload: 'without a key' },
      { key: 'http:a', payload: 2 },
    ];
    const published = await publishOver(api.url, 'http', 'http', items);
    assert.equal(published.status, 200, published.text);
    assert.deepEqual(published.as(PublishedSchema).admissions, [
      { position: 0, key: 'http:a', admission: 'accepted' },
      {
        position: 1,
        key: null,
        admission: 'rejected',
        reason: 'key: required, since lane "http" has no key template',
      },
      { position: 2, key: 'http:a', of: 0, admission: 'conflict', reason: 'key: taken by another operation' },
    ]);
    const location = published.headers.get('location');
    assert.equal(location, '/v1/batches/http');

    await batchEnd(api.stage.client, 'http');
    const batch = (await ask(api.url, location)).as(BatchAnswerSchema);
    assert.equal(batch.counts.succeeded, 1);
    const { items: rows } = (await ask(api.url, `${location}/items`)).as(BatchItemsSchema);
    assert.deepEqual(
      rows.map(({ state }) => state),
      ['succeeded', null, null],
    );
    const item = (await ask(api.url, '/v1/items/http%3Aa')).as(ItemRecordSchema);
    assert.equal(item.receipt?.status, 201);
  });
});

test('the same request twice, at once, from two connections, is one batch with one answer', async () => {
  await withLane(api.stage, 'twice', {}, async ({ upstream }) => {
    const items = Array.from({ length: 20 }, (_, n) => ({ key: `twice:${n}`, payload: n }));
    const answers = await Promise.all([1, 2].map(() => publishOver(api.url, 'twice', 'twice', items)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    assert.equal(answers[0]?.text, answers[1]?.text);
    await batchEnd(api.stage.client, 'twice');
    assert.equal(upstream.effects().length, 20);
    const later = await publishOver(api.url, 'twice', 'twice', items);
    assert.equal(later.text, answers[0]?.text, 'and so it is when the batch has ended');
  });
});

test('the same Idempotency-Key with another body is 422, and nothing of it is done', async () => {
  await withLane(api.stage, 'other', {}, async ({ upstream }) => {
    await publishOver(api.url, 'other', 'other', [{ key: 'other:a', payload: 1 }]);
    const other = await publishOver(api.url, 'other', 'other', [{ key: 'other:b', payload: 1 }]);
    assert.equal(other.problem().type, 'urn:onelane:problem:batch-id-taken');
    assert.equal(other.status, 422);
    await batchEnd(api.stage.client, 'other');
    assert.deepEqual(
      upstream.effects().map(({ key }) => key),
      ['other:a'],
    );
  });
});

test('an Idempotency-Key is the same with quotes around it, as its draft standard has it, and without', async () => {
  await withLane(api.stage, 'quotes', {}, async () => {
    const items = [{ key: 'quotes:a', payload: 1 }];
    const [bare, quoted] = [
      await publishOver(api.url, 'quotes: 1', 'quotes', items),
      await publishOver(api.url, '"quotes: 1"', 'quotes', items),
    ];
    assert.equal(quoted.text, bare.text);
    assert.equal(quoted.as(PublishedSchema).batchId, 'quotes: 1');
  });
});

test('an item that JSON does not carry exactly is rejected alone, with what is wrong with it', async () => {
  await withLane(api.stage, 'exact', {}, async () => {
    const body = `{ "lane": "exact", "items": [
      { "key": "exact:0", "payload": { "amount": 12345678901234567890 } },
      { "key": "exact:1", "payload": { "amount": 1, "amount": 2 } },
      { "key": "exact:2", "payload": { "amount": 1 } },
      { "key": "exact:3", "payload": ${'['.repeat(70)}${']'.repeat(70)} },
      { "key": "exact:4\\r\\nX-Injected: yes", "payload": 1 },
      { "key": "exact:5", "payload": "\\ud800" } ] }`;
    const published = await ask(api.url, '/v1/batches', { body, headers: { 'Idempotency-Key': 'exact' } });
    const { admissions } = published.as(PublishedSchema);
    assert.deepEqual(
      admissions.map(({ admission }) => admission),
      ['rejected', 'rejected', 'accepted', 'rejected', 'rejected', 'rejected'],
    );
    const reasons = admissions.map((admission) => ('reason' in admission ? admission.reason : ''));
    assert.match(reasons[0] ?? '', /payload\.amount: 12345678901234567890 is a number that readers round/);
    assert.match(reasons[1] ?? '', /payload\.amount: stands twice/);
    assert.match(reasons[4] ?? '', /key: expected printable ASCII only/);
  });
});

test('an item is found by its key, whatever allowed characters are in it', async () => {
  await withLane(api.stage, 'keys', {}, async () => {
    const allowed = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 255 }).filter(isKey);
    const sampled = fc.sample(allowed, { numRuns: 30, seed: 1 });
    const all = `k${String.fromCodePoint(...Array.from({ length: 95 }, (_, i) => 32 + i))}k`;
    const hard = [
      '../../etc/passwd',
      'a/../b',
      'a//b',
      '%2F',
      '%252F',
      '%',
      'a?b#c',
      'redrive',
      'x/redrive',
      '//',
      '...',
    ];
    const keys = [...new Set([...sampled, all, ...hard, 'k'.repeat(255), '/'.repeat(255)])];
    const items = keys.map((key) => ({ key, payload: { key } }));
    const { admissions } = (await publishOver(api.url, 'keys', 'keys', items)).as(PublishedSchema);
    assert.deepEqual(
      admissions.filter(({ admission }) => admission !== 'accepted'),
      [],
    );
    for (const key of keys) {
      const found = await ask(api.url, `/v1/items/${encodeURIComponent(key)}`);
      assert.equal(found.status, 200, `${JSON.stringify(key)}: ${found.text}`);
      assert.equal(found.as(ItemRecordSchema).key, key);
    }
  });
});

test('with nobody to answer, a batch is 202 and durable, and the same request is answered later', async () => {
  await withLane(api.stage, 'pending', {}, async () => {
    await api.stage.stopDispatch();
    const items = [{ key: 'pending:a', payload: 1 }];
    const publish = () =>
      ask(api.url, '/v1/batches?wait=0s', {
        body: { lane: 'pending', items },
        headers: { 'Idempotency-Key': 'pending' },
      });
    const unanswered = await publish();
    assert.equal(unanswered.status, 202);
    assert.equal(unanswered.headers.get('location'), '/v1/batches/pending');
    assert.deepEqual(unanswered.as(PublishedSchema).admissions, [
      { position: 0, key: 'pending:a', admission: 'pending' },
    ]);
    const batch = (await ask(api.url, '/v1/batches/pending')).as(BatchAnswerSchema);
    assert.deepEqual([batch.from, batch.counts.pending], ['history', 1]);
    await api.stage.startDispatch();
    const answered = await ask(api.url, '/v1/batches', {
      body: { lane: 'pending', items },
      headers: { 'Idempotency-Key': 'pending' },
    });
    assert.equal(answered.status, 200);
    assert.equal(answered.as(PublishedSchema).admissions[0]?.admission, 'accepted');
  });
});

test('a batch for a lane that nobody knows is 422, and says which lanes there are', async () => {
  await withLane(api.stage, 'known', {}, async () => {
    const refused = await publishOver(api.url, 'unknown lane', 'nowhere', [{ key: 'n:a', payload: 1 }]);
    assert.equal(refused.status, 422);
    assert.match(refused.problem().detail, /nowhere/);
  });
});

test('what nobody knows is 404', async () => {
  for (const path of ['/v1/items/nobody', '/v1/batches/nobody', '/v1/batches/nobody/items', '/v1/nothing'])
    assert.equal((await ask(api.url, path)).problem().type, 'urn:onelane:problem:not-found', path);
});

function isKey(text: string): boolean {
  return keyFault(text) === undefined;
}
