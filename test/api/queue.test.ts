import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PublishedSchema } from '../../src/api/batch-answers.ts';
import { ask } from '../support/api.ts';
import { useApi } from '../support/api-stage.ts';
import { withLane } from '../support/scene.ts';
import { batchEnd } from '../support/wait.ts';

const api = useApi();

function publishMessages(queue: string, batchId: string, messages: readonly unknown[]) {
  return ask(api.url, '/queue/publish_batch', {
    body: { queue, messages },
    headers: { 'Idempotency-Key': batchId },
  });
}

test('messages become items: operation_key is the key, the rest of the body the payload', async () => {
  await withLane(api.stage, 'queue', {}, async ({ upstream }) => {
    const published = await publishMessages('queue', 'queue', [
      { body: { operation_key: 'queue:a', package: 'parser', version: 1 } },
    ]);
    assert.equal(published.status, 200, published.text);
    await batchEnd(api.stage.client, 'queue');
    const handle = api.stage.client.workflow.getHandle('queue:a');
    const { events } = await handle.fetchHistory();
    const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
    assert.match(Buffer.from(input ?? []).toString(), /"payload":\{"package":"parser","version":1\}/);
    assert.deepEqual(
      upstream.effects().map(({ key }) => key),
      ['queue:a'],
    );
  });
});

test('a producer that reads only the status learns of a bad message by 422, and the good ones stand', async () => {
  await withLane(api.stage, 'mixed', {}, async ({ upstream }) => {
    const messages = [
      { body: { operation_key: 'mixed:good', n: 1 } },
      { body: { n: 2 } },
      { body: 'no object' },
      { body: { operation_key: 'mixed:good', n: 3 } },
      { body: { operation_key: 7 } },
      { body: { operation_key: 'mixed:delayed' }, delay_seconds: 60 },
      'no message',
    ];
    const refused = await publishMessages('mixed', 'mixed', messages);
    assert.equal(refused.status, 422);
    const problem = refused.problem();
    assert.equal(problem.type, 'urn:onelane:problem:messages-refused');
    assert.deepEqual(
      problem.admissions?.map(({ admission }) => admission),
      ['accepted', 'rejected', 'rejected', 'conflict', 'rejected', 'rejected', 'rejected'],
    );
    assert.equal((await publishMessages('mixed', 'mixed', messages)).text, refused.text, 'the same again');
    await batchEnd(api.stage.client, 'mixed');
    assert.deepEqual(
      upstream.effects().map(({ key }) => key),
      ['mixed:good'],
    );
  });
});

test('a duplicate is as good as accepted', async () => {
  await withLane(api.stage, 'dup', {}, async () => {
    const messages = [{ body: { operation_key: 'dup:a' } }];
    await publishMessages('dup', 'dup 1', messages);
    const again = await publishMessages('dup', 'dup 2', messages);
    assert.equal(again.status, 200);
    assert.equal(again.as(PublishedSchema).admissions[0]?.admission, 'duplicate');
  });
});

test('without an Idempotency-Key nothing is published', async () => {
  const refused = await ask(api.url, '/queue/publish_batch', {
    body: { queue: 'queue', messages: [{ body: { operation_key: 'none:a' } }] },
  });
  assert.equal(refused.problem().type, 'urn:onelane:problem:no-idempotency-key');
  assert.equal(refused.status, 400);
});
