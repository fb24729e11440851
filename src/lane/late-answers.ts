import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Evidence } from '../domain/evidence.ts';
import { lateAnswer } from '../workflows/messages.ts';

/** One try to tell an item. */
const TELL_WITHIN_MS = 2_000;
const TELL_AGAIN_MS = 1_000;
const TRIES = 30;

export interface LateAnswersParts {
  readonly client: Client;
  /** whether the lane is surely still ours */
  readonly held: () => boolean;
  readonly say: (line: string) => void;
}

/**
 * Tells items of answers that came when the lane was no longer ours, as to a process that was frozen during a call. By
 * then another may have taken up the item, and how its call ends here no longer counts: the answer is evidence, not
 * state.
 */
export class LateAnswers {
  readonly #parts: LateAnswersParts;

  constructor(parts: LateAnswersParts) {
    this.#parts = parts;
  }

  /** Not waited for: whoever lost a lane must be done with it soon, and may not reach the server. */
  tellIfLate(key: string, evidence: Evidence): void {
    if (!this.#parts.held()) void this.#tell(key, evidence);
  }

  async #tell(key: string, evidence: Evidence): Promise<void> {
    const { client, say } = this.#parts;
    const item = client.workflow.getHandle(key);
    for (let tries = 0; tries < TRIES; tries++) {
      try {
        await client.withDeadline(Date.now() + TELL_WITHIN_MS, () => item.signal(lateAnswer, evidence));
        return;
      } catch (error) {
        // It has ended, so nobody has to judge it any more.
        if (error instanceof WorkflowNotFoundError) return;
        // A process that ends need not stay for this.
        await sleep(TELL_AGAIN_MS, undefined, { ref: false });
      }
    }
    say(`item ${key} could not be told of a late answer: ${evidence.ended} ${evidence.verdict}`);
  }
}
