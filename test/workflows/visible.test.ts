import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { itemRecord, publish } from '../../src/client.ts';
import type { FaultScript } from '../../src/dev/upstream/faults.ts';
import {
  ONELANE_BATCH,
  ONELANE_LANE,
  ONELANE_PARKED_AT,
  ONELANE_STATE,
} from '../../src/workflows/visibility.ts';
import { historyText } from '../support/history.ts';
import { untilQueued } from '../support/items.ts';
import { withLane } from '../support/scene.ts';
import { type Stage, devServerStage } from '../support/stage.ts';
import { batchEnd, until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await devServerStage();
  await stage.startDispatch();
});
after(() => stage.close());

test('the Temporal UI shows whose item it is, where it stands and what it waits for', async () => {
  const faults: FaultScript = {
    'shown:a': [{ type: 'throttle', retryAfter: '3600' }],
    'shown:b': [{ type: 'status', status: 422 }],
  };
  await withLane(stage, 'shown', { upstream: { faults }, open: false }, async ({ config }) => {
    await publish(stage.client, {
      batchId: 'shown',
      lane: 'shown',
      items: ['b', 'a'].map((name) => ({
        key: `shown:${name}`,
        payload: {},
        priority: name === 'b' ? 1 : 5,
      })),
    });
    const waiting = await stage.client.workflow.getHandle('shown:a').describe();
    assert.deepEqual(shownAs(waiting), ['shown', 'shown', 'waiting']);
    assert.equal(await waiting.staticSummary(), 'release in lane shown, position 1 of batch shown');
    for (const key of ['shown:a', 'shown:b']) {
      await untilQueued(stage, key);
      assert.match(await detailsOf(key), /^Waits for its turn in lane shown/);
    }

    stage.openLane(config);
    await until('b is parked', async () => (await itemRecord(stage.client, 'shown:b')).state === 'dead');
    const parked = await stage.client.workflow.getHandle('shown:b').describe();
    assert.deepEqual(shownAs(parked), ['shown', 'shown', 'dead']);
    const parkedAt = parked.typedSearchAttributes.get(ONELANE_PARKED_AT);
    assert.ok(parkedAt && parkedAt >= parked.startTime, String(parkedAt));
    assert.equal(await detailsOf('shown:b'), 'Parked as dead: 422 refused');

    await until(
      'a is throttled',
      async () => (await itemRecord(stage.client, 'shown:a')).state === 'retrying',
    );
    const { raw } = await stage.client.workflow.getHandle('shown:a').describe();
    const failure = raw.pendingActivities?.[0]?.lastFailure;
    assert.match(failure?.message ?? '', /^429 throttled; next try in /);
    assert.equal(failure?.applicationFailureInfo?.category, BENIGN);

    const batch = await stage.client.workflow.getHandle('batch/shown').describe();
    assert.deepEqual(shownAs(batch), ['shown', 'shown', undefined]);
    assert.equal(await batch.staticSummary(), 'batch shown: 2 items for lane shown');
    assert.equal(
      await detailsOf('batch/shown'),
      'All items are answered; waits until each has ended or parked.',
    );
    for (const workflowId of ['batch/shown', 'shown:a']) {
      const { events } = await stage.client.workflow.getHandle(workflowId).fetchHistory();
      for (const event of events ?? [])
        if (event.activityTaskScheduledEventAttributes ?? event.timerStartedEventAttributes)
          assert.ok(
            event.userMetadata?.summary,
            `event ${String(event.eventId)} of ${workflowId} has a summary`,
          );
    }
  });
});

test('a secret that the upstream echoes is in no history, memo or failure', async () => {
  const secret = 'hunter2/with+signs="';
  const echo = JSON.stringify({ error: 'no', id: secret, sent: { authorization: `Bearer ${secret}` } });
  const faults: FaultScript = {
    'hush:a': [
      { type: 'status', status: 500, body: echo },
      { type: 'status', status: 422, body: echo },
    ],
    'hush:b': [{ type: 'status', status: 201, body: echo }],
    'hush:c': [{ type: 'throttle', retryAfter: secret }],
    'hush:d': [
      {
        type: 'status',
        status: 201,
        body: 'no JSON',
        headers: { Location: `/by/${encodeURIComponent(secret)}` },
      },
    ],
  };
  const lane = { headers: { Authorization: `Bearer ${secret}` }, secrets: [secret] };
  await withLane(stage, 'hush', { upstream: { faults }, lane }, async ({ upstream }) => {
    const keys = ['hush:a', 'hush:b', 'hush:c', 'hush:d'];
    const items = keys.map((key) => ({ key, payload: { key } }));
    await publish(stage.client, { batchId: 'hush', lane: 'hush', items });
    await batchEnd(stage.client, 'hush');
    assert.equal(upstream.arrivals().length, 6);
    const kept = await Promise.all(
      ['batch/hush', ...keys].flatMap((id) => [
        historyText(stage.client, id),
        stage.client.workflow
          .getHandle(id)
          .describe()
          .then(({ memo }) => JSON.stringify(memo)),
      ]),
    );
    kept.push(...stage.said);
    for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), 'hunter2'])
      assert.equal(kept.filter((text) => text.includes(form)).length, 0, `${form} was stored`);
    assert.ok(
      kept.some((text) => text.includes('[secret]')),
      'the echo itself was stored',
    );
  });
});

/** APPLICATION_ERROR_CATEGORY_BENIGN */
const BENIGN = 1;

function shownAs({ typedSearchAttributes }: WorkflowExecutionDescription) {
  return [ONELANE_LANE, ONELANE_BATCH, ONELANE_STATE].map((name) => typedSearchAttributes.get(name));
}

async function detailsOf(workflowId: string): Promise<string> {
  const metadata = await stage.client.workflow
    .getHandle(workflowId)
    .query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return metadata.currentDetails ?? '';
}

test('a batch does not wait behind items of others: it has the first priority, and items their own or the middle one', async () => {
  await withLane(stage, 'first', { open: false }, async () => {
    const keys = ['first:a', 'first:b'];
    const items = [
      { key: 'first:a', payload: 1 },
      { key: 'first:b', payload: 1, priority: 5 },
    ];
    await publish(stage.client, { batchId: 'first', lane: 'first', items });
    const priorities = await Promise.all(
      ['batch/first', ...keys].map(async (id) => {
        const { raw } = await stage.client.workflow.getHandle(id).describe();
        return raw.workflowExecutionInfo?.priority?.priorityKey;
      }),
    );
    assert.deepEqual(priorities, [1, 3, 5]);
  });
});
