import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, it } from 'node:test';
import { upstreamCommand } from '../../src/cli/upstream.ts';
import { readUpstreamFile } from '../../src/dev/upstream/database.ts';
import { startUpstream } from '../../src/dev/upstream/server.ts';
import { PLENTY, send, sendInVain, until, withFolder } from './upstream-harness.ts';

const COMMAND = new URL('../../src/cli/upstream.ts', import.meta.url).href;
const RUN = `
  const { upstreamCommand } = await import(${JSON.stringify(COMMAND)});
  await upstreamCommand().parseAsync(process.argv.slice(1), { from: 'user' });
`;

/** Whatever a test started and, failing, left. */
const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts `onelane upstream` and waits for the line that says where it listens. */
async function listening(file: string, ...args: string[]): Promise<{ child: ChildProcess; url: string }> {
  const flags = ['--db', file, '--quota', '1000/1s', '--json', ...args];
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', RUN, '--', ...flags],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  children.add(child);
  child.once('exit', () => children.delete(child));
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => ['{}'])]);
  const { event, url } = JSON.parse(String(line));
  assert.equal(event, 'listening');
  return { child, url };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
  return child.exitCode;
}

describe('the upstream as a process', () => {
  it('killed in the middle of writing, it goes on where it was: script, effects and log', () =>
    withFolder(async (folder) => {
      const file = join(folder, 'upstream.db');
      const faults = join(folder, 'faults.json');
      await writeFile(
        faults,
        JSON.stringify({ k: [{ type: 'lostResponse' }, { type: 'status', status: 400 }] }),
      );

      const first = await listening(file, '--faults', faults);
      assert.equal(await sendInVain(first, { key: 'k' }), 'ECONNRESET');
      const sending = Promise.all(
        Array.from({ length: 200 }, (_, i) => sendInVain(first, { key: `many-${i}` })),
      );
      await until('some have been answered', async () => {
        const response = await fetch(`${first.url}/stats`);
        return /"effects":(?:[2-9]\d|\d{3})/.test(await response.text());
      });
      await end(first.child, 'SIGKILL');
      const answered = (await sending).filter((outcome) => outcome === 'answered 201').length;

      const second = await listening(file, '--faults', faults);
      assert.equal((await send(second, { key: 'k' })).status, 400);
      assert.equal((await send(second, { key: 'k' })).headers.get('Idempotent-Replayed'), 'true');
      assert.equal(await end(second.child, 'SIGTERM'), 0);

      const { effects, arrivals } = await readUpstreamFile(file);
      assert.ok(effects.length > answered, `${effects.length} effects for ${answered} answers and one lost`);
      assert.equal(new Set(arrivals.map(({ run }) => run)).size, 2);
      assert.deepEqual(
        arrivals.map(({ sequence }) => sequence),
        arrivals.map((_, i) => i + 1),
      );
      assert.deepEqual((await readdir(folder)).toSorted(), ['faults.json', 'upstream.db']);
    }));

  it('a second one on the same file is refused, and the first goes on', () =>
    withFolder(async (folder) => {
      const file = join(folder, 'upstream.db');
      const { child, url } = await listening(file);
      await assert.rejects(startUpstream({ file, mode: 'keys', quota: PLENTY }), /another upstream has it/);
      assert.equal((await send({ url }, { key: 'k' })).status, 201);
      assert.equal(await end(child, 'SIGINT'), 0);
      const next = await startUpstream({ file, mode: 'keys', quota: PLENTY });
      assert.equal(next.effects().length, 1);
      await next.close();
    }));

  it('a file of another mode, or no database at all, is refused and left free', () =>
    withFolder(async (folder) => {
      const file = join(folder, 'upstream.db');
      await (await startUpstream({ file, mode: 'neither', quota: PLENTY })).close();
      for (let i = 0; i < 2; i++)
        await assert.rejects(startUpstream({ file, mode: 'keys', quota: PLENTY }), /written in mode keys/);
      const note = join(folder, 'note.txt');
      await writeFile(note, 'This is a note of some length, and surely not a database. '.repeat(20));
      for (let i = 0; i < 2; i++)
        await assert.rejects(
          startUpstream({ file: note, mode: 'keys', quota: PLENTY }),
          /expected a database/,
        );
    }));

  it('a taken port is refused, and the file is free again', () =>
    withFolder(async (folder) => {
      const options = { mode: 'keys', quota: PLENTY } as const;
      const first = await startUpstream({ file: join(folder, 'a.db'), ...options });
      const file = join(folder, 'b.db');
      await assert.rejects(
        startUpstream({ file, port: first.port, ...options }),
        /cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/,
      );
      const command = upstreamCommand().parseAsync(
        ['--db', file, '--quota', '5/1s', '--port', String(first.port)],
        { from: 'user' },
      );
      await assert.rejects(command, { name: 'CliError', exitCode: 2 });
      await (await startUpstream({ file, ...options })).close();
      await first.close();
    }));

  const wrong: [string, string[], RegExp][] = [
    ['a quota without a period', ['--quota', '5'], /expected requests\/duration, e\.g\. 5\/1s, got "5"/],
    ['a latency without a unit', ['--quota', '5/1s', '--latency', '20'], /expected a duration such as/],
    ['an unknown mode', ['--quota', '5/1s', '--mode', 'magic'], /Allowed choices are keys, lookup, neither/],
    ['a wrong port', ['--quota', '5/1s', '--port', '65536'], /expected a port from 0 to 65535, got "65536"/],
    [
      'a missing script',
      ['--quota', '5/1s', '--faults', 'absent.json'],
      /absent\.json: expected a JSON file/,
    ],
  ];
  for (const [what, args, message] of wrong) {
    it(`says what is wrong with ${what}, and starts nothing`, () =>
      withFolder(async (folder) => {
        const file = join(folder, 'upstream.db');
        const parsing = upstreamCommand()
          .exitOverride()
          .configureOutput({ writeErr: () => undefined })
          .parseAsync(['--db', file, ...args], { from: 'user' });
        await assert.rejects(parsing, message);
        assert.deepEqual(await readdir(folder), []);
      }));
  }
});
