import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { CancelledFailure, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import type { LaneActivities } from '../../src/activities/contract.ts';
import type { Finding } from '../../src/domain/delivery.ts';
import { DISPATCH_TASK_QUEUE, laneTaskQueue, reconcileWorkflowId } from '../../src/domain/ids.ts';
import type { Question } from '../../src/domain/reconcile.ts';
import type { reconcile } from '../../src/workflows/index.ts';
import { laneConfig } from '../support/lane.ts';
import { type Stage, timeSkippingStage } from '../support/stage.ts';
import { until } from '../support/wait.ts';

let stage: Stage;
before(async () => {
  stage = await timeSkippingStage();
  await stage.startDispatch();
});
after(() => stage.close());

const { delivery: policy } = laneConfig('any', 'http://127.0.0.1:9').policy;

function question(lane: string, key: string, notBeforeMs = 0): Question {
  return { task: { lane, key, correlationId: null, path: `/effects/${key}`, policy }, notBeforeMs };
}

/** A lane whose lookups end as the test says. */
async function withLookups(
  lane: string,
  lookUp: LaneActivities['lookUp'],
  play: () => Promise<void>,
): Promise<void> {
  const connection = await stage.connect();
  const worker = await Worker.create({ connection, taskQueue: laneTaskQueue(lane), activities: { lookUp } });
  await worker.runUntil(play);
}

async function start(
  lane: string,
  questions: readonly Question[],
): Promise<WorkflowHandle<typeof reconcile>> {
  return await stage.client.workflow.start<typeof reconcile>('reconcile', {
    workflowId: reconcileWorkflowId(lane, 'test'),
    taskQueue: DISPATCH_TASK_QUEUE,
    args: [{ lane, questions }],
  });
}

const ABSENT: Finding = { kind: 'absent', at: '2026-08-12T17:00:00.000Z', status: 404 };

function lookUpButB({ key }: { key: string }): Promise<Finding> {
  return key === 'b'
    ? Promise.reject(ApplicationFailure.nonRetryable('the lane knows no such path'))
    : Promise.resolve({ ...ABSENT, status: key === 'a' ? 404 : 410 });
}

test('findings come in the order of the questions; one that cannot be asked takes no other along', async () => {
  await withLookups('ordered', lookUpButB, async () => {
    const handle = await start(
      'ordered',
      ['a', 'b', 'c'].map((key) => question('ordered', key)),
    );
    assert.deepEqual(await handle.result(), [
      ABSENT,
      { kind: 'noEvidence', why: 'the lane knows no such path' },
      { ...ABSENT, status: 410 },
    ]);
  });
});

test('an item is not asked about while a call of it could still arrive', async () => {
  let askedAtMs = 0;
  const lookUp = (): Promise<Finding> => {
    askedAtMs = Context.current().info.scheduledTimestampMs;
    return Promise.resolve(ABSENT);
  };
  await withLookups('patient', lookUp, async () => {
    const handle = await start('patient', []);
    await handle.result();
    const { startTime } = await handle.describe();
    const notBeforeMs = startTime.getTime() + 3_600_000;
    const asked = await start('patient', [question('patient', 'a', notBeforeMs)]);
    await stage.pass(3_600_000);
    await asked.result();
    assert.ok(askedAtMs >= notBeforeMs, `${askedAtMs} is not before ${notBeforeMs}`);
  });
});

test('cancelled, it gives up the lookups that wait', async () => {
  const handle = await start('given-up', [question('given-up', 'a')]);
  await until('the lookup waits', async () => {
    const { raw } = await handle.describe();
    return (raw.pendingActivities?.length ?? 0) > 0;
  });
  await handle.cancel();
  await assert.rejects(handle.result(), (error: unknown) => {
    assert.ok(error instanceof WorkflowFailedError);
    return error.cause instanceof CancelledFailure;
  });
});
