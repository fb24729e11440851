import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';

/** Written by the build, beside this file's own output. */
export const BUILT_BUNDLE = 'workflow-bundle.cjs';

/**
 * Our workflows as a Worker wants them. Bundled once when the package is built, since bundling takes seconds
 * of every start otherwise, which is what a takeover waits for; from sources they are bundled on the spot.
 */
export function workflowCode(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const codePath = fileURLToPath(new URL(`./${BUILT_BUNDLE}`, import.meta.url));
  return existsSync(codePath) ? { workflowBundle: { codePath } } : { workflowsPath: workflowsFolder() };
}

export function workflowsFolder(): string {
  return fileURLToPath(new URL('./workflows', import.meta.url));
}
