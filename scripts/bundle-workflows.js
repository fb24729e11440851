// Part of `npm run build`: bundles the workflows once, so that no worker has to when it starts.
import { writeFile } from 'node:fs/promises';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { BUILT_BUNDLE, workflowSources } from '../dist/workflow-bundle.js';

const { code } = await bundleWorkflowCode({
  ...workflowSources(),
  logger: new DefaultLogger('WARN'),
});
await writeFile(new URL(`../dist/${BUILT_BUNDLE}`, import.meta.url), code);
