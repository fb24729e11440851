import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type DevServer, startDevServer } from '../../src/dev/temporal/dev-server.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Installing unpacks some 250 MB. */
const INSTALL_WITHIN_MS = 240_000;

/** A project of somebody who has nothing but the tarball. */
let project: string;
let server: DevServer;
before(async () => {
  project = await mkdtemp(join(tmpdir(), 'onelane-package-'));
  server = await startDevServer();
  await mkdir(join(project, 'src'));
  const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const packed = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project], {
    cwd: ROOT,
  });
  const [{ filename }] = JSON.parse(packed.stdout);
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ name: 'theirs', private: true, type: 'module' }),
  );
  const wanted = ['typescript', '@types/node'].map((name) => `${name}@${devDependencies[name]}`);
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--save-exact'];
  await run('npm', ['install', ...flags, `./${filename}`, ...wanted], {
    cwd: project,
    timeout: INSTALL_WITHIN_MS,
  });
});
after(async () => {
  await server.stop();
  await rm(project, { recursive: true, force: true });
});

/** A program that uses each of the three doors as docs/library.md shows them. */
const PROGRAM = `
import assert from 'node:assert/strict';
import { connect, type Admission, type ItemRecord } from 'onelane';
import { type FunctionLane, startWorker, succeeded } from 'onelane/worker';
import { startTestStage, startSampleUpstream } from 'onelane/testing';

interface Release { readonly pkg: string }

const releases: FunctionLane = {
  owner: 'release team',
  upstream: {
    operations: { release: async ({ key, signal }) => succeeded({ id: signal.aborted ? 'late' : key }) },
    idempotency: { window: '24h' },
  },
  limit: { requests: 50, per: '1s' },
  key: 'release:{payload.pkg}',
  retry: { budget: 5 },
  deadline: 'none',
};

const worker = await startWorker({ lanes: { releases }, say: () => undefined });
const onelane = await connect();
const payload: Release = { pkg: 'a' };
const { admissions } = await onelane.publish<Release>({ batchId: 'b', lane: 'releases', items: [{ payload }] });
const [first]: Admission[] = admissions;
assert.equal(first?.admission, 'accepted');
const { counts } = await onelane.wait('b', { withinMs: 60_000 });
assert.equal(counts.succeeded, 1);
const record: ItemRecord = await onelane.item('release:a');
assert.equal(record.receipt?.upstreamId, 'release:a');
await onelane.close();
await worker.stop();

const upstream = await startSampleUpstream();
const overHttp = {
  ...releases,
  upstream: {
    baseUrl: upstream.url,
    operations: { release: { method: 'POST' as const, path: '/releases' } },
    idempotency: { window: '24h' },
  },
};
const stage = await startTestStage({ lanes: { releases: overHttp } });
const notBefore = new Date(stage.now().getTime() + 86_400_000).toISOString();
await stage.onelane.publish({ batchId: 'b', lane: 'releases', items: [{ payload, notBefore }] });
assert.equal(upstream.effects().length, 0);
await stage.pass('25h');
await stage.onelane.wait('b', { withinMs: 30_000 });
assert.equal(upstream.effects().length, 1);
await stage.close();
await upstream.close();
console.log('all three doors open');
`;

const TSCONFIG = {
  compilerOptions: {
    target: 'ES2023',
    module: 'NodeNext',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    rootDir: 'src',
    outDir: 'out',
  },
  include: ['src'],
};

test('the packed tarball, installed in an empty project, type-checks and runs', async () => {
  await writeFile(join(project, 'src', 'main.ts'), PROGRAM);
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await outputOf('npx', ['tsc']);
  const told = await outputOf(process.execPath, ['out/main.js']);
  assert.match(told, /all three doors open/);
});

test('a mistake in their program is a type error, not a surprise at run time', async () => {
  const mistaken = PROGRAM.replace("deadline: 'none'", 'deadline: 5').replace(
    'counts.succeeded',
    'counts.done',
  );
  await writeFile(join(project, 'src', 'main.ts'), mistaken);
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await assert.rejects(outputOf('npx', ['tsc', '--noEmit']), /main\.ts\(\d+,\d+\).*(?:\n.*)*'done'/);
});

test('the command is there, too, and what is not meant to be imported is not', async () => {
  assert.match(await outputOf('npx', ['onelane', '--help']), /publish/);
  const inside =
    "import('onelane/dist/worker.js').then(() => console.log('open'), (e) => console.log(e.code))";
  assert.match(await outputOf(process.execPath, ['-e', inside]), /ERR_PACKAGE_PATH_NOT_EXPORTED/);
});

/** What a program of the project prints; its output is in the error when it fails. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  try {
    const options = { cwd: project, env: { ...process.env, TEMPORAL_ADDRESS: server.address } };
    return (await run(program, args, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = Object(error);
    throw new Error(`${program} ${args.join(' ')}:\n${stdout}\n${stderr}`, { cause: error });
  }
}
