import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Worker } from '@temporalio/worker';
import { historyFromText } from '../support/history.ts';
import { bundleWorkflows } from '../support/bundle.ts';

const FOLDER = new URL('../histories/', import.meta.url);

test('workflows that are running somewhere go on under the present code: every recorded history replays', async () => {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  const histories = names.map((name) => {
    const history = historyFromText(readFileSync(new URL(name, FOLDER), 'utf8'));
    // A batch refuses to run under an ID that is not its own.
    const workflowId = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? name;
    return { workflowId, history };
  });
  const failed: string[] = [];
  let replayed = 0;
  const results = Worker.runReplayHistories({ workflowBundle: await bundleWorkflows() }, histories);
  for await (const { workflowId, error } of results) {
    replayed++;
    if (error) failed.push(`${workflowId}: ${error.message}`);
  }
  assert.deepEqual(failed, []);
  assert.equal(replayed, names.length);
  // Each workflow's main paths are there: an emptied folder proves nothing.
  for (const [workflow, least] of [
    ['deliver-item', 4],
    ['dispatch-batch', 4],
    ['lane', 2],
    ['publish-window', 2],
  ] as const)
    assert.ok(
      names.filter((name) => name.startsWith(workflow)).length >= least,
      `${workflow} has too few histories`,
    );
});
