import { setCurrentDetails, sleep } from '@temporalio/workflow';
import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import type { Finding } from '../domain/delivery.ts';
import type { Question, ReconcilePage } from '../domain/reconcile.ts';
import { laneActivities } from './lane-activities.ts';

/**
 * Asks the upstream which of these items it has done, through their lane's slot and at its pace. It changes nothing:
 * whoever asked compares, and settles what is proved.
 *
 * @returns the findings, in the order of the questions
 */
export async function reconcile({ lane, questions }: ReconcilePage): Promise<Finding[]> {
  let answered = 0;
  const tell = () =>
    setCurrentDetails(`${answered} of ${questions.length} lookups in lane ${lane} are answered.`);
  tell();
  // All at once: one after the other, each would wait behind whatever else has come to the lane meanwhile.
  return await Promise.all(
    questions.map(async (question) => {
      const finding = await lookUp(lane, question);
      answered++;
      tell();
      return finding;
    }),
  );
}

async function lookUp(lane: string, { task, notBeforeMs }: Question): Promise<Finding> {
  const waitMs = notBeforeMs - Date.now();
  if (waitMs > 0) await sleep(waitMs, { summary: `until no call of ${task.key} can still arrive` });
  try {
    return await laneActivities(lane, task.policy, `is ${task.key} done?`).lookUp(task);
  } catch (error) {
    // One question that can't be asked must not take the answers of the others along.
    if (error instanceof ActivityFailure && error.cause instanceof ApplicationFailure)
      return { kind: 'noEvidence', why: error.cause.message };
    throw error;
  }
}
