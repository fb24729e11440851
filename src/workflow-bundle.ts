import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';

/** Written by the build, beside this file's own output. */
export const BUILT_BUNDLE = 'workflow-bundle.cjs';

/**
 * Our workflows as a Worker wants them. Bundled once when the package is built, since bundling takes seconds
 * of every start otherwise, which is what a takeover waits for; from sources they are bundled on the spot.
 */
export function workflowCode(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'bundlerOptions'> {
  const codePath = fileURLToPath(new URL(`./${BUILT_BUNDLE}`, import.meta.url));
  if (existsSync(codePath)) return { workflowBundle: { codePath } };
  const { workflowsPath, preloadModules } = workflowSources();
  return { workflowsPath, bundlerOptions: { preloadModules } };
}

/** What the bundle is made of. */
export function workflowSources() {
  const shared = import.meta.url.endsWith('.ts') ? 'shared-modules.ts' : 'shared-modules.js';
  return {
    workflowsPath: fileURLToPath(new URL('./workflows', import.meta.url)),
    preloadModules: [fileURLToPath(new URL(`./workflows/${shared}`, import.meta.url))],
  } satisfies Partial<BundleOptions>;
}
