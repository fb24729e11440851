import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type BinarySpec, cacheFolder } from './binary.ts';
import { run } from './run.ts';

/**
 * Run in a process of its own: the SDK's native runtime can be set up once per process, and that is the caller's
 * to do. The server that is started on the way is of no use, and stopped at once.
 */
const DOWNLOAD = `
const [testing, create, downloadDir, version] = process.argv.slice(1);
const { TestWorkflowEnvironment } = await import(testing);
const executable = { type: 'cached-download', downloadDir, version };
try {
  const environment = await TestWorkflowEnvironment[create]({ server: { executable } });
  await environment.teardown();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
`;

/** 45 MB over a slow line. */
const DOWNLOAD_TIMEOUT_MS = 180_000;

/** Where the SDK puts what it downloads: `<name>-<version>` in the folder that it is given. */
export function sdkDownloadPath(spec: BinarySpec, env: NodeJS.ProcessEnv): string {
  return join(cacheFolder(spec, env), `${spec.name}-v${spec.pinned}`);
}

/**
 * Lets Temporal's SDK download the pinned version from Temporal. It takes care of several processes doing so at once.
 *
 * @returns the program's path
 * @throws Error with what the SDK said
 */
export async function downloadBySdk(spec: BinarySpec, env: NodeJS.ProcessEnv): Promise<string> {
  const folder = cacheFolder(spec, env);
  await mkdir(folder, { recursive: true });
  const create = spec.name === 'temporal' ? 'createLocal' : 'createTimeSkipping';
  const args = [import.meta.resolve('@temporalio/testing'), create, folder, `v${spec.pinned}`];
  await run(process.execPath, ['--input-type=module', '--eval', DOWNLOAD, ...args], {
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
    env,
  });
  return sdkDownloadPath(spec, env);
}
