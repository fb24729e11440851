import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, type WorkflowBundleOption, bundleWorkflowCode } from '@temporalio/worker';
import { BUILT_BUNDLE, workflowSources } from '../../src/workflow-bundle.ts';

/** What the bundle is made of, besides packages. */
const SOURCES = ['workflows', 'domain', 'activities'].map(
  (room) => new URL(`../../src/${room}/`, import.meta.url),
);

let bundle: Promise<WorkflowBundleOption> | undefined;

/**
 * The workflows, as a Worker wants them: as built, if that was after the last change of a source, since making them
 * anew takes each test file seconds; otherwise made once per process.
 */
export function bundleWorkflows(): Promise<WorkflowBundleOption> {
  bundle ??= freshBundle();
  return bundle;
}

async function freshBundle(): Promise<WorkflowBundleOption> {
  const codePath = fileURLToPath(new URL(`../../dist/${BUILT_BUNDLE}`, import.meta.url));
  if (existsSync(codePath) && statSync(codePath).mtimeMs > lastChangeMs()) return { codePath };
  return await bundleWorkflowCode({ ...workflowSources(), logger: new DefaultLogger('WARN') });
}

function lastChangeMs(): number {
  const files = SOURCES.flatMap((room) => readdirSync(room).map((name) => new URL(name, room)));
  return Math.max(...files.map((file) => statSync(file).mtimeMs));
}
