import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import getPort from 'get-port';
import { answers, devFilePath, readDevFile } from '../../src/dev/temporal/dev-file.ts';
import { EXIT } from '../../src/cli/exit.ts';
import { until } from '../support/wait.ts';

/** The built command, as it is installed: `npm run test:system` builds it first. */
const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

describe('onelane dev', () => {
  let root: string;
  let folder: string;
  let ports: string[];
  let address: string;
  const running: ChildProcess[] = [];

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'onelane-dev-'));
  });
  after(() => rm(root, { recursive: true, force: true }));
  beforeEach(async () => {
    folder = await mkdtemp(join(root, 'case-'));
    const port = await getPort({ host: '127.0.0.1', reserve: true });
    const uiPort = await getPort({ host: '127.0.0.1', reserve: true });
    ports = ['--port', String(port), '--ui-port', String(uiPort)];
    address = `127.0.0.1:${port}`;
  });
  afterEach(async () => {
    for (const child of running.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  function start(...args: string[]) {
    const child = spawn(process.execPath, [MAIN, 'dev', ...ports, ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(child);
    const ended = once(child, 'exit').then(([code]: unknown[]) => code);
    return { child, ended, stdout: text(child.stdout), stderr: text(child.stderr) };
  }

  async function untilUp(): Promise<void> {
    await until('onelane dev is up', async () => existsSync(devFilePath(folder)) && (await answers(address)));
  }

  it('says what it runs and where, keeps it in a file, and leaves nothing running after Ctrl-C', async () => {
    const dev = start();
    await untilUp();
    const file = await readDevFile(folder);
    assert.deepEqual(file, { pid: dev.child.pid, address, ui: `http://127.0.0.1:${ports[3]}` });
    await until('the Web UI answers', () =>
      fetch(file?.ui ?? '').then(
        (answer) => answer.ok,
        () => false,
      ),
    );
    dev.child.kill('SIGINT');
    assert.equal(await dev.ended, EXIT.ok);

    const said = await dev.stdout;
    for (const line of ['Temporal CLI', address, file?.ui ?? '-', '30 days', `TEMPORAL_ADDRESS=${address}`])
      assert.ok(said.includes(line), `${line} is missing in\n${said}`);
    assert.equal(await answers(address), false);
    assert.equal(existsSync(devFilePath(folder)), false);
    assert.equal(existsSync(join(folder, '.onelane', 'temporal.db')), true);
  });

  it('a second one finds the first, says its address and starts nothing', async () => {
    const first = start();
    await untilUp();
    const second = start('--json');
    assert.equal(await second.ended, EXIT.ok);
    assert.deepEqual(JSON.parse(await second.stdout), {
      event: 'running',
      pid: first.child.pid,
      address,
      ui: `http://127.0.0.1:${ports[3]}`,
      env: `TEMPORAL_ADDRESS=${address}`,
    });
    assert.equal(await answers(address), true);
    assert.equal((await readDevFile(folder))?.pid, first.child.pid, "the first one's file stays");
  });

  it('of two started at once, one serves and the other finds it', async () => {
    const both = [start('--json'), start('--json')];
    const loser = await Promise.race(both.map(async (dev) => (await dev.ended, dev)));
    assert.equal(await loser.ended, EXIT.ok, await loser.stderr);
    assert.match(await loser.stdout, /"event":"running"/);
    assert.equal(await answers(address), true);
  });

  it('one that was killed is replaced, on the same ports and with the same data', async () => {
    const killed = start();
    await untilUp();
    killed.child.kill('SIGKILL');
    await killed.ended;
    assert.equal(existsSync(devFilePath(folder)), true, 'the killed one could not remove it');

    const next = start('--json');
    await until('the next one serves', async () => {
      const file = await readDevFile(folder);
      return file?.pid === next.child.pid && (await answers(address));
    });
    next.child.kill('SIGTERM');
    assert.equal(await next.ended, EXIT.ok, await next.stderr);
    const events = (await next.stdout).trim().split('\n');
    assert.match(events.join(), /"event":"binary".*"event":"ready".*"event":"stopped"/s);
  });

  it('a file whose process number belongs to another program now, with nothing at the address, is replaced', async () => {
    await mkdir(join(folder, '.onelane'));
    await writeFile(
      devFilePath(folder),
      JSON.stringify({ pid: process.pid, address: '127.0.0.1:1', ui: 'http://127.0.0.1:2' }),
    );
    const dev = start();
    await untilUp();
    assert.equal((await readDevFile(folder))?.pid, dev.child.pid);
  });

  it('a port that something else uses is one clear error, and nothing stays behind', async () => {
    const occupant = createServer((socket) => socket.destroy()).listen(Number(ports[1]), '127.0.0.1');
    await once(occupant, 'listening');
    try {
      const dev = start();
      assert.equal(await dev.ended, EXIT.usage);
      assert.equal(
        await dev.stderr,
        `onelane: Port ${ports[1]} on 127.0.0.1 is used by something else. Stop that, or choose another with --port.\n`,
      );
      assert.equal(existsSync(devFilePath(folder)), false);
    } finally {
      occupant.close();
    }
  });

  it('a server that dies is an error with its last words', async () => {
    await mkdir(join(folder, '.onelane'));
    await writeFile(join(folder, '.onelane', 'temporal.db'), 'this is no database');
    const dev = start();
    assert.equal(await dev.ended, EXIT.unreachable);
    assert.match(await dev.stderr, /dev server died \(exit code 1\): .*not a database/);
    assert.equal(await readFile(join(folder, '.onelane', 'temporal.db'), 'utf8'), 'this is no database');
  });
});
