import type { Client } from '@temporalio/client';
import type { Admission } from '../domain/batch.ts';
import { UnansweredError } from './errors.ts';
import { publishPages } from './publish-pages.ts';

export interface WholeBatch {
  readonly batchId: string;
  readonly lane: string;
  readonly publisher: string;
  readonly items: readonly unknown[];
}

/** How many items were answered how. */
export type AdmissionCounts = { readonly [kind in Exclude<Admission['admission'], 'pending'>]: number };

/**
 * Publishes a batch of any length that is known whole, in pages that are the same whoever publishes it again.
 *
 * @throws UnansweredError when nobody answers in time; publishing again asks again
 * @throws as `publish`
 */
export async function publishWhole(client: Client, batch: WholeBatch): Promise<AdmissionCounts> {
  const counts = { accepted: 0, duplicate: 0, conflict: 0, rejected: 0 };
  for await (const { page, admissions } of publishPages(client, batch)) {
    for (const { admission } of admissions) {
      if (admission === 'pending')
        throw new UnansweredError(`batch ${batch.batchId}, page ${page}: no worker has answered yet`);
      counts[admission]++;
    }
  }
  return counts;
}
